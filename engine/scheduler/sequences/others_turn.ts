/**
 * Lets others have their turn of a thread that one has work for all the time: who waits for a step's result, say. A timer
 * of no time does so as well, but takes two milliseconds, and an immediate callback keeps results waiting.
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
