/** What stands for something that was taken out. */
const GONE = "(removed)";

/** What of this machine and its user a report must not hold. */
export interface Private {
  readonly home?: string;
  readonly user?: string;
  readonly host?: string;
  /** Keys and tokens. */
  readonly secrets: readonly string[];
}

/** Names of users and hosts that say nothing of anybody. */
const COMMON = new Set(["root", "localhost", "user", "m40", "nvidia", "ollama"]);

/** What there is to keep private, out of the environment and the system. */
export function privateFacts(): Private {
  const environment = Deno.env.toObject();
  return {
    home: environment.HOME,
    user: environment.USER ?? environment.LOGNAME,
    host: hostName(),
    secrets: Object.entries(environment)
      .filter(([name, value]) => /KEY|TOKEN|SECRET|PASSW/i.test(name) && value.length >= 4)
      .map(([, value]) => value),
  };
}

function hostName(): string | undefined {
  try {
    return Deno.hostname();
  } catch {
    return undefined;
  }
}

const PATTERNS: readonly RegExp[] = [
  // UUIDs, with or without "GPU-" before them.
  /\b(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  // Addresses: of version 4, of hardware, of version 6.
  /\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b/g,
  /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/gi,
  /\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b/gi,
  /(?<![\w:])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:){2,7}:(?![\w:])/gi,
  // Keys as services make them.
  /\b(?:sk|hf|ghp|gho|glpat|xox[abp])[-_][A-Za-z0-9_-]{8,}/g,
];

/** A text without what is private. */
export function redact(text: string, facts: Private): string {
  let clean = text;
  for (const secret of facts.secrets) clean = clean.replaceAll(secret, GONE);
  const home = facts.home?.replace(/(?<!\/)\/+$/, "");
  if (home) clean = clean.replace(new RegExp(`${escape(home)}(?=/|$|[^\\w.-])`, "g"), "~");
  for (const [name, stands] of [[facts.user, "USER"], [facts.host, "HOST"]] as const) {
    if (!name || COMMON.has(name)) continue;
    clean = clean.replace(
      new RegExp(`(?<![\\p{L}\\p{N}])${escape(name)}(?![\\p{L}\\p{N}])`, "giu"),
      stands,
    );
  }
  return PATTERNS.reduce((text, pattern) => text.replace(pattern, GONE), clean);
}

/** The same of every text in a value; names of fields stay. */
export function redactAll<T>(value: T, facts: Private): T {
  if (typeof value === "string") return redact(value, facts) as T;
  if (Array.isArray(value)) return value.map((one) => redactAll(one, facts)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, redactAll(one, facts)]),
  ) as T;
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
