/**
 * Model of the data explorer: the current folder with its loaded entries, order and selection.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { IEntry, IOrder, IPageOfEntries, IParent, IRoot } from './entries.js';
import { crumbs, parsePage, parseRoots, rootOf, sorted } from './entries.js';
import { Transfers } from './transfermodel.js';

/** Number of entries fetched at once, and the limit, used if they are sorted here. */
const PAGE = 500;
const LARGEST_PAGE = 10_000;
// More entries are fetched when fewer rows than this remain.
const AHEAD = 100;

/** The current folder, and the root it was opened from. */
export interface IPlace {
  readonly root: IRoot;
  readonly uri: string;
  readonly crumbs: readonly IParent[];
}

export class ExplorerModel {
  constructor(readonly engine: IEngine) {
    this.transfers = new Transfers(engine);
    this.transfers.ended.connect(() => void this.refresh());
  }

  readonly transfers: Transfers;
  /** Null until loaded. */
  roots: readonly IRoot[] | null = null;
  /** Null while the list of roots is shown. */
  place: IPlace | null = null;
  trouble: ITrouble | null = null;
  isLoading = false;
  /** Whether the folder has entries that are not loaded. */
  more = false;
  order: IOrder = { column: 'name', isDescending: false };
  selected: ReadonlySet<string> = new Set();
  /** The focused row. */
  current = 0;

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** The loaded entries, sorted. */
  get entries(): readonly IEntry[] {
    return this.shown;
  }

  get chosen(): readonly IEntry[] {
    return this.shown.filter(entry => this.selected.has(entry.path));
  }

  /** Whether the current folder is writable. */
  get canWrite(): boolean {
    return this.place?.root.writable === true;
  }

  /** Load the roots. */
  async start(): Promise<void> {
    await this.during(async () => {
      this.roots = parseRoots(await this.engine.call('storages'));
    });
  }

  /** Return to the list of roots. */
  leave(): void {
    this.turn += 1;
    this.place = null;
    this.trouble = null;
    this.isLoading = false;
    this.put([], false);
    void this.start();
  }

  /**
   * Open a folder. On failure, the current folder stays.
   *
   * @param root - the root; by default the nearest one above the folder, of the current account.
   * @returns whether the folder is open now.
   */
  async open(uri: string, root: IRoot | null = null): Promise<boolean> {
    const profile = root?.profile ?? this.accountFor(uri);
    const opening = this.during(async isLatest => {
      const page = await this.fetch(uri, profile, '', PAGE);
      if (isLatest()) {
        const from = root ?? rootOf(this.roots ?? [], page.parents, profile) ?? plain(page, profile);
        this.place = { root: from, uri: page.uri, crumbs: crumbs(page.parents, from) };
        this.selected = new Set();
        this.current = 0;
        this.put(page.entries, page.more);
      }
    });
    this.opening = opening;
    const isThere = await opening;
    if (this.opening === opening) {
      this.opening = null;
    }
    if (isThere && !this.isInOrder) {
      await this.all();
    }
    return isThere;
  }

  /** Open the parent folder; from a root, the list of roots. */
  async up(): Promise<void> {
    const { place } = this;
    const above = place?.crumbs.at(-2);
    if (place && above) {
      const from = place.uri;
      await this.open(above.uri, place.root);
      this.point(this.shown.findIndex(entry => entry.uri === from));
    } else if (place) {
      this.leave();
    }
  }

  /** Reload the folder; the selection is kept. Waits for a folder that is being opened. */
  async refresh(): Promise<void> {
    await this.opened();
    const { place, shown } = this;
    if (!place) {
      await this.start();
      return;
    }
    const isThere = await this.during(async isLatest => {
      const page = await this.fetch(
        place.uri,
        place.root.profile,
        '',
        Math.min(Math.max(shown.length, PAGE), LARGEST_PAGE)
      );
      if (isLatest()) {
        this.put(page.entries, page.more);
      }
    });
    if (isThere && !this.isInOrder) {
      await this.all();
    }
  }

  /** Load more if a visible row is near the end. */
  look(row: number): void {
    if (this.more && !this.isLoading && row > this.shown.length - AHEAD) {
      void this.next(PAGE);
    }
  }

  async sort(order: IOrder): Promise<void> {
    this.order = order;
    this.put(this.known, this.more);
    if (!this.isInOrder) {
      await this.all();
    }
    this.point(0);
  }

  /**
   * Load all entries, which any order except by name needs. Stops if another request is made.
   */
  async all(): Promise<void> {
    await this.opened();
    let isLatest = true;
    while (this.more && isLatest) {
      isLatest = await this.next(LARGEST_PAGE);
    }
  }

  /** Focus a row and select it alone. */
  pick(row: number): void {
    const entry = this.shown[row];
    if (entry) {
      this.anchor = row;
      this.choose([entry.path], row);
    }
  }

  /** Toggle the selection of a row. */
  toggle(row: number): void {
    const path = this.shown[row]?.path;
    if (path !== undefined) {
      this.anchor = row;
      const without = [...this.selected].filter(one => one !== path);
      this.choose(this.selected.has(path) ? without : [...without, path], row);
    }
  }

  /** Select the range from the anchor to a row. */
  extend(row: number): void {
    const [first, last] = [Math.min(this.anchor, row), Math.max(this.anchor, row)];
    const paths = this.shown.slice(first, last + 1).map(entry => entry.path);
    this.choose(paths, row);
  }

  /** Focus a row without changing the selection. */
  point(row: number): void {
    this.current = Math.min(Math.max(row, 0), Math.max(this.shown.length - 1, 0));
    this.signal.emit();
  }

  choose(paths: readonly string[], row = this.current): void {
    this.selected = new Set(paths);
    this.point(row);
  }

  /** Select and focus the entry of a URI. */
  reveal(uri: string): void {
    const row = this.shown.findIndex(entry => entry.uri === uri || entry.uri === `${uri}/`);
    if (row >= 0) {
      this.pick(row);
    }
  }

  private get isInOrder(): boolean {
    return !this.more || (this.order.column === 'name' && !this.order.isDescending);
  }

  /** Wait for the folder that is being opened. */
  private async opened(): Promise<void> {
    while (this.opening) {
      await this.opening;
    }
  }

  /** Return the profile for a typed path, preferring the current account. */
  private accountFor(uri: string): string {
    const { place, roots } = this;
    if (place?.root.profile && uri.startsWith(`${place.root.scheme}://`)) {
      return place.root.profile;
    }
    return (
      rootOf(
        roots ?? [],
        (roots ?? []).filter(root => root.uri && uri.startsWith(root.uri))
      )?.profile ?? ''
    );
  }

  private async next(most: number): Promise<boolean> {
    const { place } = this;
    const after = this.known.at(-1)?.path ?? '';
    return this.during(async isLatest => {
      const page = await this.fetch(place?.uri ?? '', place?.root.profile ?? '', after, most);
      if (isLatest()) {
        this.put([...this.known, ...page.entries], page.more && page.entries.length > 0);
      }
    });
  }

  private async fetch(uri: string, profile: string, after: string, limit: number): Promise<IPageOfEntries> {
    return parsePage(await this.engine.call('list_data', { uri, profile, after, limit }));
  }

  private put(entries: readonly IEntry[], more: boolean): void {
    const at = this.shown[this.current]?.path;
    this.known = entries;
    this.more = more;
    this.shown = sorted(entries, this.order);
    const paths = new Set(entries.map(entry => entry.path));
    const stay = [...this.selected].filter(path => paths.has(path));
    if (stay.length < this.selected.size) {
      this.selected = new Set(stay);
    }
    const row = this.shown.findIndex(entry => entry.path === at);
    this.point(row < 0 ? this.current : row);
  }

  /** Run a request that supersedes earlier ones; return whether it succeeded and was not superseded itself. */
  private async during(work: (isLatest: () => boolean) => Promise<void>): Promise<boolean> {
    const turn = ++this.turn;
    const isLatest = () => turn === this.turn;
    this.isLoading = true;
    this.signal.emit();
    let isThere = false;
    try {
      await work(isLatest);
      isThere = isLatest();
      this.trouble = isThere ? null : this.trouble;
    } catch (error) {
      if (isLatest()) {
        this.trouble = error instanceof EngineError ? error : { message: String(error), fix: '' };
      }
    }
    if (isLatest()) {
      this.isLoading = false;
      this.signal.emit();
    }
    return isThere;
  }

  private readonly signal = new Signal<this, void>(this);
  private known: readonly IEntry[] = [];
  private shown: readonly IEntry[] = [];
  private anchor = 0;
  private turn = 0;
  private opening: Promise<boolean> | null = null;
}

/** Return a root for a folder outside of all known roots. */
function plain({ uri, parents }: IPageOfEntries, profile: string): IRoot {
  const top = parents[0]?.uri ?? uri;
  const scheme = uri.slice(0, uri.indexOf(':'));
  return { uri: top, title: top, profile, scheme, writable: true, problem: '', fix: '' };
}
