/** What a template gave: a text, or why it gave none. */
export interface Outcome {
  readonly text?: string;
  readonly error?: string;
}

/** What a script of Python's says of cases: a line of JSON for each. */
export async function outputOf(
  python: string,
  script: string,
  cases: readonly unknown[],
  env: Record<string, string> = {},
): Promise<Outcome[]> {
  const child = new Deno.Command(python, {
    args: ["-W", "ignore", script],
    stdin: "piped",
    stdout: "piped",
    env,
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  const lines = cases.map((one) => JSON.stringify(one)).join("\n");
  await writer.write(new TextEncoder().encode(lines + "\n"));
  await writer.close();
  const { stdout } = await output;
  return new TextDecoder().decode(stdout).trimEnd().split("\n").map((line) => JSON.parse(line));
}
