/**
 * A request as spans of OpenTelemetry: one for all of it, and in it one for each part of its time.
 *
 * @module
 */
import type { GenerationReport } from "../../engine/mod.ts";

/** What of OpenTelemetry's API is used of a span. */
interface Span {
  setAttribute(name: string, value: string | number): void;
  setStatus(status: { code: number; message?: string }): void;
  end(time: number): void;
}

/** What of OpenTelemetry's API is used of a tracer; times are in milliseconds since 1970. */
export interface Tracer {
  startSpan(
    name: string,
    options: { kind?: number; startTime: number },
    context: SpanContext,
  ): Span;
}

/** OpenTelemetry's numbers for kinds and statuses. */
const SERVER = 1;
const ERROR = 2;

/** By what a context holds the span that the next ones are in. */
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");

/** A context of OpenTelemetry's, as far as starting a span asks for it. */
class SpanContext {
  constructor(private readonly values: ReadonlyMap<symbol, unknown> = new Map()) {}

  getValue(key: symbol): unknown {
    return this.values.get(key);
  }

  setValue(key: symbol, value: unknown): SpanContext {
    return new SpanContext(new Map(this.values).set(key, value));
  }

  deleteValue(key: symbol): SpanContext {
    const values = new Map(this.values);
    values.delete(key);
    return new SpanContext(values);
  }
}

/** A request that is traced: notified of its generations, and of its answer. */
export class RequestTrace {
  private readonly start = Date.now();
  private readonly reports: { report: GenerationReport; end: number }[] = [];
  private readonly pending: Promise<unknown>[] = [];

  /** A generation of the request has ended. */
  readonly onReport = (report: GenerationReport): void => {
    this.reports.push({ report, end: Date.now() });
  };

  /** The request lasts until then, whether its answer has started or not. */
  until(done: Promise<unknown>): void {
    this.pending.push(done);
  }

  /**
   * Makes the spans, when the request is done.
   *
   * @param name Method and path.
   * @param parent The header `traceparent`, which says what trace it belongs to.
   */
  async export(
    tracer: Tracer,
    name: string,
    status: number,
    { parent, prefix }: { parent?: string; prefix?: string },
  ): Promise<void> {
    await Promise.allSettled(this.pending);
    const context = parentContext(parent);
    const root = tracer.startSpan(name, { kind: SERVER, startTime: this.start }, context);
    const [method, path] = name.split(" ");
    root.setAttribute("http.request.method", method);
    root.setAttribute("http.route", path);
    root.setAttribute("http.response.status_code", status);
    if (prefix !== undefined) root.setAttribute("m40.prefix", prefix);
    let failed = status >= 500;
    for (const { report, end } of this.reports) {
      failed ||= report.outcome === "error" || report.outcome === "timeout";
      this.generation(tracer, context.setValue(SPAN, root), report, end);
    }
    if (failed) root.setStatus({ code: ERROR });
    root.end(Date.now());
  }

  /** Spans of a generation: one that says what it was, and in it queue, prefill and decode. */
  private generation(
    tracer: Tracer,
    context: SpanContext,
    report: GenerationReport,
    end: number,
  ): void {
    const arrival = end - report.totalMs;
    const span = tracer.startSpan("generation", { startTime: arrival }, context);
    span.setAttribute("gen_ai.usage.input_tokens", report.promptTokens);
    span.setAttribute("gen_ai.usage.output_tokens", report.completionTokens);
    span.setAttribute("m40.cached_tokens", report.cachedTokens);
    span.setAttribute("m40.outcome", report.outcome);
    const within = context.setValue(SPAN, span);
    const part = (name: string, from: number, to: number) =>
      tracer.startSpan(name, { startTime: arrival + from }, within).end(arrival + to);
    const { queueMs, firstTokenMs, decodeMs, totalMs } = report;
    // What it never came to has no span; what it did not come to the end of lasts until it ended.
    part("queue", 0, queueMs ?? totalMs);
    if (queueMs !== undefined) part("prefill", queueMs, firstTokenMs ?? totalMs);
    if (firstTokenMs !== undefined && decodeMs !== undefined) {
      part("decode", firstTokenMs, firstTokenMs + decodeMs);
    }
    if (report.outcome === "error") span.setStatus({ code: ERROR });
    span.end(end);
  }
}

/** The context of the caller's span (W3C Trace Context); an empty one where there is none. */
function parentContext(header: string | undefined): SpanContext {
  const none = new SpanContext();
  const found = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/.exec(
    header ?? "",
  );
  if (found === null) return none;
  const [, traceId, spanId, flags] = found;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return none;
  const traceFlags = parseInt(flags, 16);
  const spanContext = () => ({ traceId, spanId, traceFlags, isRemote: true });
  return none.setValue(SPAN, { spanContext });
}
