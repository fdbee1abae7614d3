/** Runs, as `stored`, and columns whose digest is another; `results` are documents as text. */
export function differing(results: string[]): { runs: [string, string][]; columns: string[] };
/** Rows of the digest of a result and the scenario, as JSON, that gives it. */
export function stored(): [string, string][];
