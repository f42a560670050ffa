/**
 * Imported by tests that change environment variables: files of tests that run side by side share a process, and
 * with it one environment. With this, what `Deno.env` says and is told is this file's alone. Programs that are
 * started, and what the runtime itself looks up (proxies), have the process's.
 *
 * @module
 */

const variables = new Map(Object.entries(Deno.env.toObject()));

const own: Deno.Env = {
  get: (name) => variables.get(name),
  set: (name, value) => void variables.set(name, value),
  delete: (name) => void variables.delete(name),
  has: (name) => variables.has(name),
  toObject: () => Object.fromEntries(variables),
};

Object.defineProperty(Deno, "env", { value: own });
