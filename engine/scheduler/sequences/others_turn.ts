/**
 * Yields the thread to other work, such as handling a step's result. A timer of 0 ms takes two milliseconds,
 * and an immediate callback delays results.
 */
export class OthersTurn {
  private readonly channel = new MessageChannel();
  private next?: () => void;

  constructor() {
    this.channel.port1.onmessage = () => this.next?.();
  }

  /** Resolves when others have had their turn. */
  come(): Promise<void> {
    return new Promise((resolve) => {
      this.next = resolve;
      this.channel.port2.postMessage(undefined);
    });
  }

  /** No more turns come. */
  close(): void {
    this.channel.port1.close();
    this.channel.port2.close();
  }
}
