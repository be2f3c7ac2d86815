// SPDX-License-Identifier: Apache-2.0
// Colours and shapes of series that have no meaning of their own: Okabe and Ito's palette, told apart
// by most colour-blind readers.

export const kSeriesColours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a7a7a"];
export const kSeriesShapes = ["circle", "triangle", "rect", "diamond", "emptyCircle", "emptyTriangle", "emptyRect", "emptyDiamond"];
