// SPDX-License-Identifier: Apache-2.0
// The source of the target whose precompiled header all rooms, or all tests, share.
