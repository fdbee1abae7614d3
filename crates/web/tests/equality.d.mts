export function differing(results: string[]): { runs: string[][]; columns: string[] };
export function stored(): string[][];
