/**
 * Model of the data explorer: the current folder with its loaded entries, order and selection.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine, IErrorMessage } from '../api/engine.js';
import { errorMessageOf } from '../api/engine.js';
import type { IEntry, IEntryPage, IOrder, IParent, IRoot } from './entries.js';
import { breadcrumbs, parsePage, parseRoots, rootOf, sortEntries } from './entries.js';
import { Transfers } from './transfermodel.js';

/** Number of entries fetched at once, and the limit, used if they are sorted here. */
const PAGE = 500;
const MAX_PAGE = 10_000;
// More entries are fetched when fewer rows than this remain.
const PREFETCH_ROWS = 100;

/** The current folder, and the root it was opened from. */
export interface ILocation {
  readonly root: IRoot;
  readonly uri: string;
  readonly breadcrumbs: readonly IParent[];
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
  location: ILocation | null = null;
  error: IErrorMessage | null = null;
  isLoading = false;
  /** True if the folder has entries that are not loaded. */
  hasMore = false;
  order: IOrder = { column: 'name', isDescending: false };
  selected: ReadonlySet<string> = new Set();
  /** The focused row. */
  current = 0;

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** The loaded entries, sorted. */
  get entries(): readonly IEntry[] {
    return this.sorted;
  }

  get selectedEntries(): readonly IEntry[] {
    return this.sorted.filter(entry => this.selected.has(entry.path));
  }

  /** True if the current folder is writable. */
  get canWrite(): boolean {
    return this.location?.root.writable === true;
  }

  /** Load the roots. */
  async loadRoots(): Promise<void> {
    await this.request(async () => {
      this.roots = parseRoots(await this.engine.call('storages'));
    });
  }

  /** Return to the list of roots. */
  showRoots(): void {
    this.requestId += 1;
    this.location = null;
    this.error = null;
    this.isLoading = false;
    this.setEntries([], false);
    void this.loadRoots();
  }

  /**
   * Open a folder. On failure, the current folder stays.
   *
   * @param root - the root; by default the nearest one above the folder, of the current account.
   * @returns whether the folder is open now.
   */
  async open(uri: string, root: IRoot | null = null): Promise<boolean> {
    const profile = root?.profile ?? this.profileFor(uri);
    const opening = this.request(async isLatest => {
      const page = await this.fetchPage(uri, profile, '', PAGE);
      if (isLatest()) {
        const origin = root ?? rootOf(this.roots ?? [], page.parents, profile) ?? rootAbove(page, profile);
        this.location = { root: origin, uri: page.uri, breadcrumbs: breadcrumbs(page.parents, origin) };
        this.selected = new Set();
        this.current = 0;
        this.setEntries(page.entries, page.more);
      }
    });
    this.opening = opening;
    const isOpen = await opening;
    if (this.opening === opening) {
      this.opening = null;
    }
    if (isOpen && !this.isInOrder) {
      await this.loadAll();
    }
    return isOpen;
  }

  /** Open the parent folder; from a root, the list of roots. */
  async up(): Promise<void> {
    const { location } = this;
    const above = location?.breadcrumbs.at(-2);
    if (location && above) {
      const child = location.uri;
      await this.open(above.uri, location.root);
      this.focusRow(this.sorted.findIndex(entry => entry.uri === child));
    } else if (location) {
      this.showRoots();
    }
  }

  /** Reload the folder; the selection is kept. Waits for a folder that is being opened. */
  async refresh(): Promise<void> {
    await this.waitForOpening();
    const { location, sorted } = this;
    if (!location) {
      await this.loadRoots();
      return;
    }
    const isOpen = await this.request(async isLatest => {
      const page = await this.fetchPage(
        location.uri,
        location.root.profile,
        '',
        Math.min(Math.max(sorted.length, PAGE), MAX_PAGE)
      );
      if (isLatest()) {
        this.setEntries(page.entries, page.more);
      }
    });
    if (isOpen && !this.isInOrder) {
      await this.loadAll();
    }
  }

  /** Load more if a visible row is near the end. */
  ensureLoaded(row: number): void {
    if (this.hasMore && !this.isLoading && row > this.sorted.length - PREFETCH_ROWS) {
      void this.loadMore(PAGE);
    }
  }

  async sort(order: IOrder): Promise<void> {
    this.order = order;
    this.setEntries(this.loaded, this.hasMore);
    if (!this.isInOrder) {
      await this.loadAll();
    }
    this.focusRow(0);
  }

  /**
   * Load all entries, which any order except by name needs. Stops if another request is made.
   */
  async loadAll(): Promise<void> {
    await this.waitForOpening();
    let isLatest = true;
    while (this.hasMore && isLatest) {
      isLatest = await this.loadMore(MAX_PAGE);
    }
  }

  /** Focus a row and select it alone. */
  selectOnly(row: number): void {
    const entry = this.sorted[row];
    if (entry) {
      this.anchor = row;
      this.select([entry.path], row);
    }
  }

  /** Toggle the selection of a row. */
  toggle(row: number): void {
    const path = this.sorted[row]?.path;
    if (path !== undefined) {
      this.anchor = row;
      const without = [...this.selected].filter(selected => selected !== path);
      this.select(this.selected.has(path) ? without : [...without, path], row);
    }
  }

  /** Select the range from the anchor to a row. */
  extendSelection(row: number): void {
    const [first, last] = [Math.min(this.anchor, row), Math.max(this.anchor, row)];
    const paths = this.sorted.slice(first, last + 1).map(entry => entry.path);
    this.select(paths, row);
  }

  /** Focus a row without changing the selection. */
  focusRow(row: number): void {
    this.current = Math.min(Math.max(row, 0), Math.max(this.sorted.length - 1, 0));
    this.signal.emit();
  }

  select(paths: readonly string[], row = this.current): void {
    this.selected = new Set(paths);
    this.focusRow(row);
  }

  /** Select and focus the entry of a URI. */
  reveal(uri: string): void {
    const row = this.sorted.findIndex(entry => entry.uri === uri || entry.uri === `${uri}/`);
    if (row >= 0) {
      this.selectOnly(row);
    }
  }

  private get isInOrder(): boolean {
    return !this.hasMore || (this.order.column === 'name' && !this.order.isDescending);
  }

  /** Wait for the folder that is being opened. */
  private async waitForOpening(): Promise<void> {
    while (this.opening) {
      await this.opening;
    }
  }

  /** Return the profile for a typed path, preferring the current account. */
  private profileFor(uri: string): string {
    const { location, roots } = this;
    if (location?.root.profile && uri.startsWith(`${location.root.scheme}://`)) {
      return location.root.profile;
    }
    return (
      rootOf(
        roots ?? [],
        (roots ?? []).filter(root => root.uri && uri.startsWith(root.uri))
      )?.profile ?? ''
    );
  }

  private async loadMore(limit: number): Promise<boolean> {
    const { location } = this;
    const after = this.loaded.at(-1)?.path ?? '';
    return this.request(async isLatest => {
      const page = await this.fetchPage(location?.uri ?? '', location?.root.profile ?? '', after, limit);
      if (isLatest()) {
        this.setEntries([...this.loaded, ...page.entries], page.more && page.entries.length > 0);
      }
    });
  }

  private async fetchPage(uri: string, profile: string, after: string, limit: number): Promise<IEntryPage> {
    return parsePage(await this.engine.call('list_data', { uri, profile, after, limit }));
  }

  private setEntries(entries: readonly IEntry[], hasMore: boolean): void {
    const currentPath = this.sorted[this.current]?.path;
    this.loaded = entries;
    this.hasMore = hasMore;
    this.sorted = sortEntries(entries, this.order);
    const paths = new Set(entries.map(entry => entry.path));
    const remaining = [...this.selected].filter(path => paths.has(path));
    if (remaining.length < this.selected.size) {
      this.selected = new Set(remaining);
    }
    const row = this.sorted.findIndex(entry => entry.path === currentPath);
    this.focusRow(row < 0 ? this.current : row);
  }

  /** Run a request that supersedes earlier ones; return whether it succeeded and was not superseded itself. */
  private async request(work: (isLatest: () => boolean) => Promise<void>): Promise<boolean> {
    const id = ++this.requestId;
    const isLatest = () => id === this.requestId;
    this.isLoading = true;
    this.signal.emit();
    let isDone = false;
    try {
      await work(isLatest);
      isDone = isLatest();
      this.error = isDone ? null : this.error;
    } catch (error) {
      if (isLatest()) {
        this.error = errorMessageOf(error);
      }
    }
    if (isLatest()) {
      this.isLoading = false;
      this.signal.emit();
    }
    return isDone;
  }

  private readonly signal = new Signal<this, void>(this);
  private loaded: readonly IEntry[] = [];
  private sorted: readonly IEntry[] = [];
  private anchor = 0;
  private requestId = 0;
  private opening: Promise<boolean> | null = null;
}

/** Return a root for a folder outside of all known roots. */
function rootAbove({ uri, parents }: IEntryPage, profile: string): IRoot {
  const top = parents[0]?.uri ?? uri;
  const scheme = uri.slice(0, uri.indexOf(':'));
  return { uri: top, title: top, profile, scheme, writable: true, problem: '', fix: '' };
}
