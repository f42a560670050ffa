/**
 * Which GPU `auto` chose when the server started. From then on `auto` means that GPU: where it is lost, a model that is
 * loaded again fails with a visible error and a load balancer goes elsewhere. The CPU would serve it a hundred times
 * slower.
 */
export class ChosenGpu {
  private taken?: string;

  /** `auto` took this one. */
  take(device: string): void {
    this.taken = device;
  }

  /** What to load by, where a model's options name this device. */
  meantBy(device: string): string {
    return device === "auto" ? this.taken ?? device : device;
  }
}
