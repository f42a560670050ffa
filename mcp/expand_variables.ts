/** A reference to a variable: its name, and what holds where it is not set. It may lack its end. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?(\}|$)/g;

/**
 * Replaces `${NAME}` and `${NAME:-DEFAULT}` with variables of the environment.
 *
 * @param variable The value of a variable.
 * @param refuse Makes the error of a text that cannot be followed.
 * @throws What `refuse` makes: for one that is not set and has no default, and for references of another form.
 */
export function expandVariables(
  text: string,
  variable: (name: string) => string | undefined,
  refuse: (message: string) => Error,
): string {
  // What other clients ask or look up by itself would be sent as it stands.
  const rest = text.replace(REFERENCE, (whole) => whole.endsWith("}") ? "" : whole);
  const other = rest.match(/\$\{[^}]*\}?/)?.[0];
  if (other !== undefined) {
    throw refuse(`has ${JSON.stringify(other.slice(0, 60))}; wanted \${NAME} or \${NAME:-DEFAULT}`);
  }
  return text.replace(REFERENCE, (_, name: string, otherwise?: string) => {
    const value = variable(name) ?? otherwise;
    if (value === undefined) throw refuse(`wants $${name}, which is not set in the environment`);
    return value;
  });
}
