// SPDX-License-Identifier: Apache-2.0
// The source of the targets whose precompiled headers all rooms, or all tests, share.
int main() { return 0; }
