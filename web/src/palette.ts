// Colours and dashes, those of the project's other plots (Okabe and Ito's), with a set for dark backgrounds.

export interface Look {
  colour: string;
  dashes: number[];
}

const LIGHT: Look[] = [
  { colour: "#D55E00", dashes: [] },
  { colour: "#0072B2", dashes: [] },
  { colour: "#007F5C", dashes: [7, 3] },
  { colour: "#B05A97", dashes: [6, 2, 2, 2] },
];
const DARK: Look[] = [
  { colour: "#FF8A3C", dashes: [] },
  { colour: "#56B4E9", dashes: [] },
  { colour: "#2FC79A", dashes: [7, 3] },
  { colour: "#DE92C6", dashes: [6, 2, 2, 2] },
];

/** Flows, by turns: Okabe and Ito's colours, of which no two look alike to people who see colours otherwise. */
export const FLOWS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"] as const;
/** With the colour of the text they are so many. */
export const FLOW_COLOURS = FLOWS.length + 1;

/** The colour of a flow, from 0. */
export function flowColour(flow: number): string {
  return FLOWS[flow % FLOW_COLOURS] ?? ink().text;
}

/** What became of arrivals, in the order of the lanes. */
export const FATES = [
  { key: "passed", title: "passed", light: "#5b6167", dark: "#9aa3ab" },
  { key: "marked", title: "marked", light: "#9A6700", dark: "#F0C040" },
  { key: "early", title: "early drop", light: "#0072B2", dark: "#56B4E9" },
  { key: "forced", title: "forced drop", light: "#B05A97", dark: "#DE92C6" },
  { key: "overflow", title: "overflow", light: "#C0392B", dark: "#FF7B6B" },
] as const;

export function dark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The look of the discipline at a position. */
export function look(index: number): Look {
  const all = dark() ? DARK : LIGHT;
  return all[index % all.length]!;
}

export function fate(index: number): string {
  const one = FATES[index]!;
  return dark() ? one.dark : one.light;
}

export interface Ink {
  text: string;
  soft: string;
  line: string;
  ground: string;
}

/** Colours of text, axes and grid. */
export function ink(): Ink {
  return dark()
    ? { text: "#e7eaed", soft: "#a7b0b8", line: "#353c43", ground: "#1b2026" }
    : { text: "#1d1f21", soft: "#5b6167", line: "#e3e6e8", ground: "#ffffff" };
}
