// SPDX-License-Identifier: Apache-2.0
// Colours and shapes of series that have no meaning of their own: Okabe and Ito's palette, told apart
// by most colour-blind readers.

import { kDrawing } from "./drawing";

export const kSeriesColours = kDrawing.tints;
export const kSeriesShapes = ["circle", "triangle", "rect", "diamond", "emptyCircle", "emptyTriangle", "emptyRect", "emptyDiamond"];
