import { isJsonObject } from "../../json/mod.ts";
import { type Budget, MAX_NESTING, refusal, wrong } from "./limits.ts";

/** A schema in the document, or one that a constant stands for. */
export interface Place {
  /** A JSON pointer from the document's root; what errors name. */
  readonly pointer: string;
  readonly schema: unknown;
  /** Distinguishes positions. */
  readonly key: number;
  /** Whether it is no schema of the document but one that a constant stands for: its pointer is the constant's. */
  readonly ofValue?: boolean;
}

/** A schema that nothing follows, and one that everything does. */
export const NOTHING: Place = { pointer: "", schema: false, key: 0 };
export const ANYTHING: Place = { pointer: "", schema: true, key: 1 };
/** Where a document's numbers of positions start. */
const FIRST_KEY = 2;

export type Fields = Readonly<Record<string, unknown>>;

const MAX_PLACES = 100_000;
/** The address of a document that has none. */
const NO_ADDRESS = "schema:///";
/** What a character of an address costs that is resolved or noted, as to one that is copied. */
const ADDRESS_WORK = 4;

/** Keywords whose value is a schema, a list of schemas, or schemas by names. */
const ONE =
  ("additionalItems additionalProperties contains contentSchema else if items not propertyNames " +
    "then unevaluatedItems unevaluatedProperties").split(" ");
const LISTS = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
export const NAMED: readonly string[] =
  "$defs definitions dependencies dependentSchemas patternProperties properties".split(" ");

const escapeToken = (token: string) => token.replaceAll("~", "~0").replaceAll("/", "~1");

/** The names in a JSON pointer. */
export function tokensOf(pointer: string): string[] {
  return pointer.split("/").slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The positions in a schema document: what `$id`, `$anchor` and `$dynamicAnchor` name, and where a `$ref` leads. */
export class Document {
  /** Whether the document says that it is of a draft before 2019-09, where `$ref` stands alone. */
  readonly refStandsAlone: boolean;
  /** The keywords that it has anywhere. */
  readonly keywords = new Set<string>();
  private readonly idKeyword: string;
  private readonly places = new Map<string, Place>();
  /** The numbers of what is inside a constant, by the number around it and the name in that. */
  private readonly valueKeys = new Map<string, number>();
  private nextKey = FIRST_KEY;
  /** The addresses of schemas that have one of their own, by their pointers. */
  private readonly addresses = new Map<string, string>();
  private readonly resources = new Map<string, string>();
  /** The pointers of the schemas with an address that those of the document lie in. */
  private readonly resourcesAround = new Map<string, string>();
  private readonly anchors = new Map<string, string>();
  /** By its name, the pointers of schemas that declare a dynamic anchor. */
  private readonly dynamicAnchors = new Map<string, string[]>();

  constructor(readonly root: unknown, private readonly budget: Budget) {
    const dialect = isJsonObject(root) && typeof root.$schema === "string" ? root.$schema : "";
    this.refStandsAlone = /draft-0[3467]/.test(dialect);
    this.idKeyword = /draft-0[34]/.test(dialect) ? "id" : "$id";
    if (/draft-03/.test(dialect)) {
      throw refusal("/$schema", "draft 3 is not supported; write the schema in draft 4 or later");
    }
    this.index();
  }

  /** The position of a pointer, which must lead to something. */
  at(pointer: string, from = pointer): Place {
    return this.places.getOrInsertComputed(pointer, () => {
      this.budget.lookAtText(pointer.length, from);
      let schema: unknown = this.root;
      for (const token of tokensOf(pointer)) {
        const inside = typeof schema === "object" && schema !== null &&
          Object.hasOwn(schema, token);
        if (!inside) throw wrong(from, `it leads to "#${pointer}", which is not there`);
        schema = (schema as Fields)[token];
      }
      return { pointer, schema, key: this.nextKey++ };
    });
  }

  /** The place inside another one. */
  inside(place: Place, ...tokens: (string | number)[]): Place {
    if (place.ofValue) {
      const schema = tokens.reduce<unknown>((at, token) => (at as Fields)[token], place.schema);
      return this.ofValue(place, tokens.join("/"), schema);
    }
    return this.at(place.pointer + tokens.map((t) => "/" + escapeToken(String(t))).join(""));
  }

  /** The position of a schema that stands for a constant at another position, or for a part of one. */
  ofValue({ pointer, key: around }: Place, name: string, schema: unknown): Place {
    const key = this.valueKeys.getOrInsertComputed(`${around}/${name}`, () => this.nextKey++);
    return { pointer, schema, key, ofValue: true };
  }

  /** Where a `$ref` leads. */
  follow(place: Place, keyword: "$ref" | "$dynamicRef"): Place {
    const from = `${place.pointer}/${keyword}`;
    const reference = (place.schema as Fields)[keyword];
    if (typeof reference !== "string") throw wrong(from, "it must be a string");
    const [address, fragment] = this.resolve(reference, this.addressOf(place.pointer), from);
    const resource = this.resources.get(address);
    if (resource === undefined) {
      throw wrong(
        from,
        `"${reference}" is not in this document; put what it names into "$defs" and refer to that`,
      );
    }
    if (fragment === "" || fragment.startsWith("/")) return this.at(resource + fragment, from);
    const anchor = this.anchors.get(`${address}#${fragment}`);
    if (anchor === undefined) {
      throw wrong(from, `no schema has the anchor "${fragment}"; declare it by "$anchor"`);
    }
    return keyword === "$ref" ? this.at(anchor) : this.dynamic(fragment, anchor, from);
  }

  /**
   * Where a dynamic reference leads depends on the way by which it was reached. The same way for all: to
   * the document's own anchor, which is the outermost, or to the only one.
   */
  private dynamic(name: string, initial: string, from: string): Place {
    const declared = this.dynamicAnchors.get(name) ?? [];
    this.budget.spend(declared.length, from);
    if (!declared.includes(initial)) return this.at(initial);
    const outermost = declared.find((pointer) => this.resourceOf(pointer) === "");
    if (outermost !== undefined) return this.at(outermost);
    if (declared.length === 1) return this.at(initial);
    throw refusal(
      from,
      `"${name}" is a dynamic anchor of several schemas, none of them the document's own; use "$ref"`,
    );
  }

  private index(): void {
    this.resources.set(NO_ADDRESS, "");
    this.addresses.set("", NO_ADDRESS);
    const pending: [schema: unknown, pointer: string, depth: number, around: string][] = [
      [this.root, "", 0, ""],
    ];
    for (let seen = 0; pending.length > 0; seen++) {
      const [schema, pointer, depth, around] = pending.pop()!;
      if (depth > MAX_NESTING) {
        throw refusal("", `its schemas are nested more than ${MAX_NESTING} deep`);
      }
      if (seen > MAX_PLACES) throw refusal("", `it has more than ${MAX_PLACES} schemas in it`);
      if (!isJsonObject(schema)) continue;
      this.resourcesAround.set(pointer, around);
      this.name(schema, pointer);
      const resource = this.addresses.has(pointer) ? pointer : around;
      this.resourcesAround.set(pointer, resource);
      for (const keyword of Object.keys(schema)) this.keywords.add(keyword);
      const add = (value: unknown, ...tokens: string[]) => {
        this.budget.look(1, "");
        this.budget.lookAtText(pointer.length, "");
        const inner = [pointer, ...tokens.map(escapeToken)].join("/");
        pending.push([value, inner, depth + 1, resource]);
      };
      for (const keyword of ONE) if (isJsonObject(schema[keyword])) add(schema[keyword], keyword);
      for (const keyword of LISTS) {
        const list = schema[keyword];
        if (Array.isArray(list)) list.forEach((item, i) => add(item, keyword, String(i)));
      }
      for (const keyword of NAMED) {
        const named = schema[keyword];
        if (!isJsonObject(named)) continue;
        for (const [name, value] of Object.entries(named)) add(value, keyword, name);
      }
    }
  }

  private name(schema: Fields, pointer: string): void {
    const id = schema[this.idKeyword];
    const covered = this.refStandsAlone && "$ref" in schema;
    if (typeof id === "string" && !covered) {
      const from = `${pointer}/${this.idKeyword}`;
      const [address, fragment] = this.resolve(id, this.addressOf(pointer), from);
      if (!id.startsWith("#")) {
        this.addresses.set(pointer, address);
        this.resources.set(address, pointer);
      }
      if (fragment !== "") this.anchors.set(`${address}#${fragment}`, pointer);
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = schema[keyword];
      if (typeof anchor !== "string") continue;
      const address = this.addressOf(pointer);
      this.budget.lookAtText(ADDRESS_WORK * address.length, pointer);
      this.anchors.set(`${address}#${anchor}`, pointer);
      if (keyword === "$anchor") continue;
      this.dynamicAnchors.getOrInsertComputed(anchor, () => []).push(pointer);
    }
  }

  /** The pointer of the schema with an address that a place lies in. */
  private resourceOf(pointer: string): string {
    for (let at = pointer;; at = at.slice(0, at.lastIndexOf("/"))) {
      this.budget.lookAtText(at.length, pointer);
      const resource = this.addresses.has(at) ? at : this.resourcesAround.get(at);
      if (resource !== undefined) return resource;
    }
  }

  private addressOf(pointer: string): string {
    return this.addresses.get(this.resourceOf(pointer))!;
  }

  private resolve(reference: string, base: string, from: string): [string, string] {
    this.budget.lookAtText(ADDRESS_WORK * (reference.length + base.length), from);
    try {
      const url = new URL(reference, base);
      const fragment = decodeURIComponent(url.hash.slice(1));
      url.hash = "";
      return [url.href, fragment];
    } catch {
      throw wrong(from, `"${reference}" is no reference that can be resolved`);
    }
  }
}
