/** A failure with a message for the user that builds. */
export class BuildError extends Error {}
