import type { GuardedObserver } from "../../generation/mod.ts";
import type { EngineCard, PlacedModel, ReplicaState } from "../../loading/mod.ts";
import type { SchedulerLoss, Sequence } from "../../scheduler/mod.ts";
import type { KvBlockStore } from "../../scheduler/disk/cache/mod.ts";
import type { ServingOptions } from "../../engine_options.ts";
import type { M40Error } from "../../errors.ts";
import { Replica, type ReplicaStatus } from "../../replica.ts";
import { outstandingTokens } from "./choice.ts";
import type { PlacedReplica } from "./load.ts";
import { ReplicaQueue } from "./replica_queue.ts";
import { Revival } from "./revival.ts";
import { countedBy, diskOf, NOTHING, sumOf } from "./sum.ts";

/** A device and the replica that it has, as long as it has one. */
interface Place {
  readonly name: string;
  /** The last status of the loaded model. */
  card: Pick<EngineCard, "device" | "memory">;
  readonly again: (signal: AbortSignal) => Promise<PlacedModel>;
  replica?: Replica;
  state: ReplicaState["state"];
  /** What it was lost by, or could not be loaded again for. */
  reason?: string;
  losses: number;
}

/** The replicas of a model behind their queue. Those that are lost come back. */
export class Replicas {
  /** What sequences are put into. */
  readonly queue: ReplicaQueue;
  private readonly places: Place[] = [];
  private readonly revival: Revival<Replica>;
  private readonly onReplica: (message: string) => void;
  /** What replicas have counted that are gone. */
  private past = NOTHING;
  private missedKvBlocks = 0;
  /** KV blocks on disk, shared by replicas that compute the same bits. */
  private readonly stores = new Set<KvBlockStore>();

  constructor(
    loaded: readonly PlacedReplica[],
    private readonly serving: ServingOptions,
    private readonly observed: GuardedObserver,
  ) {
    const onReplica = this.onReplica = serving.onReplica ?? (() => {});
    this.revival = new Revival((error) => onReplica(String(error)));
    this.queue = new ReplicaQueue(
      serving.maxQueue,
      (error) => observed.note(error),
    );
    for (const { name, again, placed } of loaded) {
      const place: Place = { name, card: placed.cards[0], again, state: "loading", losses: 0 };
      this.places.push(place);
      this.putIn(place, this.create(place, placed));
    }
  }

  /** The cards of the replicas that are ready. */
  get cards(): readonly EngineCard[] {
    return this.there.flatMap(({ cards }) => cards);
  }

  /** The one with the least to do. */
  get idlest(): Replica {
    const tokens = (replica: Replica) => outstandingTokens(replica.scheduler.room.load());
    return this.there.reduce((a, b) => tokens(b) < tokens(a) ? b : a);
  }

  /** Each by itself. */
  states(): readonly ReplicaState[] {
    return this.places.map(({ name, state, reason, losses, replica, card }) => {
      const { device, memory } = card;
      const { running = 0, waiting = 0, restShare } = replica?.status() ?? {};
      return {
        ...{ name, state, reason, losses, restShare, device, memory },
        sequences: running + waiting,
        card: state === "ready" ? replica?.cards[0] : undefined,
      };
    });
  }

  /** All of them together. */
  status(): ReplicaStatus {
    const { queue, there, past } = this;
    // An idle replica may be lost; the next call shows it.
    queue.findLosses();
    const each = there.map((one) => one.status());
    const sum = sumOf([...each, past]);
    const missed = each.reduce(
      (sum, { disk }) => sum + (disk?.missedKvBlocks ?? 0),
      this.missedKvBlocks,
    );
    return {
      ...sum,
      waiting: sum.waiting + queue.sequences().length,
      failed: queue.failed?.message,
      disk: diskOf(this.stores, missed),
      lostReplicas: this.places.filter(({ state }) => state !== "ready").map(({ name }) => name),
    };
  }

  /** Those that run and wait, with the device of the replica that each was given to. */
  sequences(): readonly { readonly sequence: Sequence; readonly device?: string }[] {
    const given = this.places.flatMap(({ name, replica }) =>
      (replica?.scheduler.sequences() ?? []).map((sequence) => ({
        sequence,
        device: name,
      }))
    );
    return [...given, ...this.queue.sequences().map((sequence) => ({ sequence }))];
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.queue.idle();
  }

  /** Nothing is asked of the devices any more. */
  stop(): void {
    for (const replica of this.there) replica.stop();
  }

  /** Frees the devices, when nothing runs or waits. */
  async close(): Promise<void> {
    this.stop();
    await this.idle();
    await Promise.all([this.revival.close(), ...this.there.map((replica) => replica.close())]);
  }

  private get there(): Replica[] {
    return this.places.flatMap(({ replica }) => replica ?? []);
  }

  private create(place: Place, placed: PlacedModel): Replica {
    const replica: Replica = new Replica(placed, this.serving, this.observed, {
      name: place.name,
      onChange: () => this.queue.notice(),
      onLoss: (loss) => this.lose(place, replica, loss),
    });
    return replica;
  }

  private putIn(place: Place, replica: Replica): void {
    place.replica = replica;
    [place.card] = replica.cards;
    place.state = "ready";
    place.reason = undefined;
    const { kvBlockStore } = replica.placed;
    if (kvBlockStore !== undefined) this.stores.add(kvBlockStore);
    this.queue.join(replica);
  }

  /** A replica is lost: the others take over its sequences, and it is loaded again. */
  private lose(place: Place, replica: Replica, loss: SchedulerLoss): void {
    this.queue.lose(replica, loss);
    const { message } = loss.error;
    place.losses++;
    place.state = "lost";
    place.reason = message;
    // The last one stays, because its error answers later requests.
    if (this.queue.failed !== undefined) return void this.revival.close();
    place.replica = undefined;
    const status = replica.status();
    this.past = sumOf([this.past, countedBy(status)]);
    this.missedKvBlocks += status.disk?.missedKvBlocks ?? 0;
    const { length } = this.there;
    this.onReplica(
      `A replica was lost, ${message}. ${length} of ${this.places.length} go on; it is loaded again.`,
    );
    this.revival.begin({
      name: place.name,
      error: loss.error,
      remains: replica,
      load: async (signal) => {
        const placed = await place.again(signal);
        try {
          return this.create(place, placed);
        } catch (error) {
          await placed.close();
          throw error;
        }
      },
      onAttempt: (failed) => this.noteAttempt(place, failed),
      onReady: (replica) => {
        this.putIn(place, replica);
        this.onReplica(`The replica on ${place.name} is ready again.`);
      },
    });
  }

  private noteAttempt(place: Place, failed?: M40Error): void {
    place.state = failed === undefined ? "loading" : "lost";
    if (failed === undefined) return;
    place.reason = failed.message;
    this.onReplica(
      `The replica on ${place.name} cannot be loaded again, which is tried once more later: ${failed.message}`,
    );
  }
}
