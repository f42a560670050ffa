/**
 * Which GPU `auto` took since the server began. From then on `auto` means that GPU: where it is lost, a model that is
 * loaded anew fails with an error that is seen, and a balancer goes elsewhere, rather than being served by the CPU a
 * hundred times slower.
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
