"""Words that the project replaces, and what to write instead. docs/developer/writing.md has the rules."""

# In documents and in everything that commands print.
EVERYWHERE = {
    r"\b(?:chunks|layers|NVLinks|ranks?|GPUs?|copies|messages|calls) (?:a|an|each) (?:stage|rank|GPU|node)\b": "per stage, per rank, per GPU",
    r"\b(?:bytes|launches|seconds|tokens) an? (?:parameter|layer|step|element|second|token)\b": "per parameter, per layer, per step",
    r"\bdo(?:es)? not divide by\b": "is not divisible by",
    r"\d[\d,.]* positions\b": "tokens or seq_length",
    r"\b[Oo]beys? (?:every|all) rules?\b": "valid",
    r"\blegal (?:layout|order|size)s?\b": "valid",
    r"\blooked at\b": "evaluated",
    r"\b[Nn]obody\b": "passive voice, or the name of who",
    r"\bsticks? out\b": "exposed",
    r"\breally (?:run|runs|ran)\b": "executed",
    r"\bgive or take\b": "±",
    r"\bkeeps? all limits\b": "meets all limits",
    r"\b(?:calm|calmer|quiet|busy) (?:host|machine|run|core)\b": "idle or loaded host; less noisy run",
    r"\bnoisy host\b": "loaded host",
    r"\b[Hh]eld against\b": "compared with",
    r"\bby our (?:own )?price\b": "predicted",
    r"\bpriced\b": "predicted, evaluated or included in the prediction",
    r"\bthe fullest (?:GPU|rank|device|stage)\b": "the one with the highest memory use",
    r"\b[Aa]t (?:the )?host's speed\b": "corrected for host speed",
    r"\bhost's time over calibrated\b": "host slowdown",
    r"\bnear[- ]twins?\b": "near-duplicates",
    r"\bdealt out\b": "assigned",
    r"\bhanded on\b": "passed to",
    r"\bstand-in\b": "proxy",
    r"\blast cache\b": "last-level cache",
    r"\b(?:and|or) it is said\b|\bsays so\b|\band is said\b": "prints, reports or states",
    r"\bgoes on\b": "continues",
    r"\b10[- ]90 %|\b10 to 90 %|8 of 10 cases|9 of 10 cases": "P10-P90 for a range, P90 for a limit",
    r"\bledger's\b": "communication volume table",
    r"\bother people's\b": "of other software",
    r"\bfell out\b": "rejected",
    r"\badmits? it\b": "makes it valid",
    r"\bdid you mean\b": "an imperative hint: use X",
}

# In output only, where a word has one meaning.
OUTPUT = {
    r"\brank 1\b(?!:|</text>)": "layout #1",
    r"\btoday's winner\b|\(today ": "layout #1, current value",
    r"\bregime\b(?!s?\.|_)": "calibration level",
}

# In comments of sources.
COMMENTS = {
    r"\bnear[- ]twins?\b": "near-duplicates",
    r"\bby our (?:own )?price\b": "predicted",
    r"\bgive or take\b": "±",
    r"\bother people's\b": "of other software",
    r"\blast cache\b": "last-level cache",
    r"\b[Oo]beys? (?:every|all) rules?\b": "valid",
    r"\breally (?:run|runs|ran)\b": "executed",
}

# Parts of a page that the words do not apply to: code, and names in backquotes.
EXEMPT = r"```.*?```|`[^`\n]*`"
