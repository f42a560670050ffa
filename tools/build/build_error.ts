/** A failure whose message is for the person who builds. */
export class BuildError extends Error {}
