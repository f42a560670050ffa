/** Runs a program; returns what it wrote, or fails with its message. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; output?: string } = {},
): Promise<string> {
  const { output, ...rest } = options;
  let result: Deno.CommandOutput;
  try {
    result = await new Deno.Command(command, { args: [...args], ...rest, stdin: "null" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(`${command} is not installed, and a release cannot be made without it`);
  }
  const decoder = new TextDecoder();
  if (!result.success) {
    throw new Error(`${command} ${args.join(" ")} failed: ${decoder.decode(result.stderr).trim()}`);
  }
  if (output === undefined) return decoder.decode(result.stdout);
  await Deno.writeFile(output, result.stdout);
  return "";
}
