import type { z } from "zod";

/** One method of one path. */
export interface Operation {
  readonly method: "GET" | "POST" | "DELETE";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  /** A parameter of the path: what it is. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** One line, without a full stop. */
  readonly summary: string;
  /** One or more sentences. */
  readonly description: string;
  /** The request's body. */
  readonly body?: z.ZodType;
  /** What it is answered with: JSON of this schema, or what has this content type. */
  readonly answer: z.ZodType | string;
  /** The events of a stream, where `stream` is true. */
  readonly events?: readonly z.ZodType[];
  /** The content type of a stream; absent: that of server-sent events. */
  readonly eventsType?: string;
  /** The body of its errors; absent: OpenAI's. */
  readonly error?: z.ZodType;
  /** Whether it answers without a key. */
  readonly open?: boolean;
}

/** @param route The method and the path. */
export function operation(
  route: `${Operation["method"]} /${string}`,
  summary: string,
  rest: Omit<Operation, "method" | "path" | "summary">,
): Operation {
  const [method, path] = route.split(" ") as [Operation["method"], string];
  return { method, path, summary, ...rest };
}
