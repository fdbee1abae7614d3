export function digest(text: string): string;
export function compared(document: string): string;
/** Rows of the digest of a result and the scenario, as JSON, that gives it. */
export function stored(): [string, string][];
