// removed once this room has a source
