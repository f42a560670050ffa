/** Calls back when nothing has happened for some time. */
export class IdleWatch {
  private timer?: number;

  /**
   * @param milliseconds How long; absent: it never calls.
   * @param onIdle Called when nothing was in use for so long.
   */
  constructor(
    private readonly milliseconds: number | undefined,
    private readonly onIdle: () => void,
  ) {}

  /** It is quiet from now on, or still; or it is not. */
  update(quiet: boolean): void {
    if (!quiet) return this.stop();
    if (this.milliseconds === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.onIdle();
    }, this.milliseconds);
    Deno.unrefTimer(this.timer);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
