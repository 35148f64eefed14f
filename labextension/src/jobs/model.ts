/**
 * The loaded part of the job list: pages are fetched while scrolling, and updated while visible.
 *
 * The server filters, sorts and counts. Changes from the stream update the rows immediately. Then the visible rows are
 * fetched again, since a change can move them.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IConnection, IEngine, IErrorMessage } from '../api/engine.js';
import { errorMessageOf } from '../api/engine.js';
import type { IJob, JobStatus, Message } from '../api/wire.js';
import { hasEnded, list, number, parseJob, record } from '../api/wire.js';
import type { IListedRun } from '../api/workflowrun.js';
import { hasRunEnded, parseListedRun } from '../api/workflowrun.js';

export type Sort = 'submitted' | 'name' | 'status' | 'took';

/** Filters and order. `label` is KEY=VALUE, `notebook` a path; empty fields match all jobs. */
export interface IQuery {
  readonly name: string;
  readonly statuses: readonly JobStatus[];
  readonly backend: string;
  readonly label: string;
  readonly notebook: string;
  readonly sort: Sort;
  readonly order: 'asc' | 'desc';
}

export const NO_FILTERS: IQuery = {
  name: '',
  statuses: [],
  backend: '',
  label: '',
  notebook: '',
  sort: 'submitted',
  order: 'desc'
};

// The largest page of the server.
const MAX_PAGE = 500;
// Rows kept before and after the visible ones.
const KEPT_ROWS = 500;
// Milliseconds: changes within one pause are fetched together; progress is polled once a beat.
const PAUSE = 300;
const POLL_INTERVAL = 2000;

/** A page of the list, with the runs that its jobs stand for, by id. */
interface IPage {
  readonly jobs: readonly IJob[];
  readonly runs: ReadonlyMap<string, IListedRun>;
  readonly total: number;
}

export class JobsModel {
  constructor(private readonly engine: IEngine) {}

  /** Number of matching jobs; null until it is loaded. */
  total: number | null = null;
  error: IErrorMessage | null = null;
  connection: IConnection = { state: 'idle', retryAt: null };

  get query(): IQuery {
    return this.currentQuery;
  }

  /** Emitted when a field above or a row changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Emitted with the ids of deleted jobs. */
  get deleted(): ISignal<this, readonly string[]> {
    return this.deletedSignal;
  }

  /** Return the job of a row; null if it is not loaded. */
  jobAt(row: number): IJob | null {
    return this.rows.get(row) ?? null;
  }

  /** Return the run of a workflow that a row stands for; null for a row of a single job. */
  runAt(row: number): IListedRun | null {
    return this.runs.get(this.rows.get(row)?.workflow ?? '') ?? null;
  }

  /** True if a row stands for a run. */
  get hasRuns(): boolean {
    return this.runs.size > 0;
  }

  /** The loaded jobs. */
  get known(): readonly IJob[] {
    return [...this.rows.values()];
  }

  /** Keep the list up to date until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    this.engine.subscribe({ topic: 'jobs' }, message => this.receive(message), signal);
    this.engine.watch(connection => {
      this.connection = connection;
      this.signal.emit();
    }, signal);
    const beat = setInterval(() => {
      if (this.error || this.visibleRows().some(row => this.isActive(row))) {
        this.refresh();
      }
    }, POLL_INTERVAL);
    signal.addEventListener('abort', () => {
      clearInterval(beat);
      clearTimeout(this.timer);
      this.timer = undefined;
    });
  }

  /** Change the filters or the order. */
  search(change: Partial<IQuery>): void {
    this.currentQuery = { ...this.currentQuery, ...change };
    this.rows.clear();
    this.runs = new Map();
    this.total = null;
    this.first = 0;
    this.signal.emit();
    this.refresh();
  }

  /** Set the visible rows and load missing ones. */
  setVisibleRows(first: number, count: number): void {
    this.first = first;
    this.count = count;
    const end = Math.min(first + count, this.total ?? 0);
    for (let row = first; row < end; row++) {
      if (!this.rows.has(row)) {
        this.needsMore = true;
        void this.fetch();
        return;
      }
    }
  }

  /** Fetch the visible rows again. */
  refresh(): void {
    this.needsRefresh = true;
    void this.fetch();
  }

  /**
   * Return the jobs of the rows from `first` to before `end`, loading missing ones. Rows of runs are left out.
   */
  async range(first: number, end: number): Promise<readonly IJob[]> {
    const result: IJob[] = [];
    while (first < end) {
      const { jobs, runs } = await this.fetchPage(first, Math.min(end - first, MAX_PAGE));
      if (jobs.length === 0) {
        break;
      }
      result.push(...jobs.filter(job => !runs.has(job.workflow)));
      first += jobs.length;
    }
    return result;
  }

  /** True if each run of a workflow is one row: without filters, and in the default order. */
  private get isFolded(): boolean {
    const { sort, order } = this.currentQuery;
    return !this.isFiltered && sort === NO_FILTERS.sort && order === NO_FILTERS.order;
  }

  /** True if a filter is set. */
  get isFiltered(): boolean {
    const { name, statuses, backend, label, notebook } = this.currentQuery;
    return Boolean(name || statuses.length || backend || label || notebook);
  }

  private receive(message: Message): void {
    if (message.type === 'error') {
      this.error = message;
    } else if (message.type === 'jobs') {
      this.applyChanges(message.jobs, message.deleted);
      // Also the first message after each reconnect; no later change is missed.
      this.timer ??= setTimeout(
        () => {
          this.timer = undefined;
          this.refresh();
        },
        this.total === null ? 0 : PAUSE
      );
    }
    this.signal.emit();
  }

  private applyChanges(jobs: readonly IJob[], deleted: readonly string[]): void {
    const changed = new Map(jobs.map(job => [job.id, job]));
    for (const [row, { id }] of this.rows) {
      const job = changed.get(id);
      if (job) {
        this.rows.set(row, job);
      }
    }
    if (deleted.length) {
      this.deletedSignal.emit(deleted);
    }
  }

  /** Fetch with one call at a time; requests made meanwhile are combined into the next call. */
  private async fetch(): Promise<void> {
    if (this.isFetching) {
      return;
    }
    this.isFetching = true;
    try {
      while (this.needsRefresh || this.needsMore) {
        const isRefresh = this.needsRefresh;
        this.needsRefresh = this.needsMore = false;
        await this.fetchOnce(isRefresh);
      }
    } finally {
      this.isFetching = false;
    }
  }

  private async fetchOnce(isRefresh: boolean): Promise<void> {
    const { currentQuery: query, first: top, count } = this;
    const first = Math.max(0, top - count);
    try {
      const { jobs, runs, total } = await this.fetchPage(first, Math.min(3 * count, MAX_PAGE));
      if (query !== this.currentQuery) {
        return; // The query changed in the meantime.
      }
      for (const row of this.rows.keys()) {
        if (isRefresh || Math.abs(row - first) > KEPT_ROWS) {
          this.rows.delete(row);
        }
      }
      jobs.forEach((job, n) => this.rows.set(first + n, job));
      this.runs = isRefresh ? runs : new Map([...this.runs, ...runs]);
      this.total = total;
      this.error = null;
    } catch (error) {
      this.error = errorMessageOf(error);
    }
    this.signal.emit();
    if (top !== this.first || count !== this.count) {
      this.setVisibleRows(this.first, this.count); // The list was scrolled in the meantime.
    }
  }

  private async fetchPage(offset: number, limit: number): Promise<IPage> {
    const { statuses: status, ...query } = this.currentQuery;
    const folded = this.isFolded ? { folded: true } : {};
    const response = record(await this.engine.call('list_jobs', { status, ...query, ...folded, limit, offset }));
    const jobs = list(response['jobs']).flatMap(value => parseJob(value) ?? []);
    const runs = Object.values(record(response['runs'])).flatMap(value => parseListedRun(value) ?? []);
    return { jobs, runs: new Map(runs.map(run => [run.id, run])), total: number(response['total']) ?? 0 };
  }

  private isActive(row: number): boolean {
    const [job, run] = [this.jobAt(row), this.runAt(row)];
    return run ? !hasRunEnded(run) : job !== null && !hasEnded(job);
  }

  private visibleRows(): readonly number[] {
    const { first, count } = this;
    return [...this.rows.keys()].filter(row => row >= first && row < first + count);
  }

  private readonly signal = new Signal<this, void>(this);
  private readonly deletedSignal = new Signal<this, readonly string[]>(this);
  private readonly rows = new Map<number, IJob>();
  private runs: ReadonlyMap<string, IListedRun> = new Map<string, IListedRun>();
  private currentQuery = NO_FILTERS;
  private first = 0;
  private count = 30;
  private needsRefresh = false;
  private needsMore = false;
  private isFetching = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
}
