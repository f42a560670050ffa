import { Session } from "node:inspector";

interface RangeCoverage {
  startOffset: number;
  endOffset: number;
  count: number;
}

interface ScriptCoverage {
  url: string;
  functions: { ranges: RangeCoverage[] }[];
}

/** V8 counts from the first use to the end of the process: code that it optimized meanwhile would not be counted. */
let counting: Promise<Session> | undefined;

async function startCounting(): Promise<Session> {
  const session = new Session();
  session.connect();
  await post(session, "Profiler.enable");
  await post(session, "Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return session;
}

function post<Result = unknown>(
  session: Session,
  method: string,
  params?: object,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error: Error | null, result?: object) => {
      if (error) reject(error);
      else resolve(result as Result);
    });
  });
}

/**
 * Which characters of this program's own code have run, from V8's precise coverage.
 */
export class Coverage {
  /** By script and position of a function: which of its characters have run. */
  private readonly ran = new Map<string, Uint8Array>();
  private characters = 0;

  /** @param within Only scripts whose URL contains one of these count. */
  private constructor(
    private readonly session: Session,
    private readonly within: readonly string[],
  ) {}

  /** Starts to count. */
  static async start(within: readonly string[]): Promise<Coverage> {
    return new Coverage(await (counting ??= startCounting()), within);
  }

  /** How many characters of code have run that {@link take} had to remember. */
  get size(): number {
    return this.characters;
  }

  /**
   * How many characters of code have run since the last call that are not remembered.
   *
   * @param remember Whether they are from now on.
   */
  async take(remember: boolean): Promise<number> {
    const { result } = await post<{ result: ScriptCoverage[] }>(
      this.session,
      "Profiler.takePreciseCoverage",
    );
    let fresh = 0;
    for (const { url, functions } of result) {
      if (!this.within.some((part) => url.includes(part))) continue;
      for (const { ranges } of functions) fresh += this.takeFunction(url, ranges, remember);
    }
    if (remember) this.characters += fresh;
    return fresh;
  }

  /** The first range is the function's; each other lies in an earlier one, and says what is otherwise there. */
  private takeFunction(url: string, ranges: readonly RangeCoverage[], remember: boolean): number {
    const [{ startOffset: start, endOffset: end }] = ranges;
    const now = new Uint8Array(end - start);
    for (const { startOffset, endOffset, count } of ranges) {
      now.fill(count > 0 ? 1 : 0, startOffset - start, endOffset - start);
    }
    const key = `${url}:${start}`;
    const ran = this.ran.get(key) ?? new Uint8Array(now.length);
    let fresh = 0;
    for (let i = 0; i < now.length; i++) {
      if (now[i] === 0 || ran[i] === 1) continue;
      fresh++;
      if (remember) ran[i] = 1;
    }
    if (remember) this.ran.set(key, ran);
    return fresh;
  }
}
