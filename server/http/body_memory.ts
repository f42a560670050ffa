import { HttpError } from "../errors.ts";

/** Whoever reads a body. */
export interface BodyHolder {
  /** The body is read no further; whoever waits for it gets the error. */
  failBody(error: HttpError): void;
}

/**
 * The memory of all bodies that have come in part. Where it is not enough, the body that has been coming for the
 * longest is given up: those that come at once are never long on their way, however many are sent slowly.
 */
export class BodyMemory {
  /** Those that hold bytes, the first of them first. */
  private readonly holders = new Map<BodyHolder, number>();
  private bytes = 0;

  /** @param most Bytes at most. */
  constructor(private readonly most: number) {}

  /** A body has become so many bytes longer. */
  grow(holder: BodyHolder, bytes: number): void {
    this.holders.set(holder, (this.holders.get(holder) ?? 0) + bytes);
    this.bytes += bytes;
    for (const oldest of this.holders.keys()) {
      if (this.bytes <= this.most) return;
      this.release(oldest);
      oldest.failBody(
        new HttpError(
          503,
          "too_many_bodies",
          `Bodies that came in part had more than ${this.most} bytes together, and this one came the slowest. ` +
            "Send it again.",
          { headers: { "Retry-After": "1" } },
        ),
      );
    }
  }

  /** A body is complete, or given up. */
  release(holder: BodyHolder): void {
    this.bytes -= this.holders.get(holder) ?? 0;
    this.holders.delete(holder);
  }
}
