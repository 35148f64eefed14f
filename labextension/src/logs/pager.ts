/**
 * Paging through the log of a job: pages are fetched on demand, and at the end the stream is followed.
 */

import type { IEngine, Parameters } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';
import type { ILogPage } from './window.js';
import { LogWindow, parsePage } from './window.js';

/** A search query. With `errors`, `text` is ignored. */
export interface ILogQuery {
  readonly text: string;
  readonly regex: boolean;
  readonly case: boolean;
  readonly errors?: boolean;
}

/** A search result: the number of matching lines, and the found line with its 1-based position among them. */
export interface ILogMatch {
  readonly total: number;
  readonly isComplete: boolean;
  readonly position: number;
  readonly line: number | null;
}

// Larger than the number of lines of any log.
const END = 2 ** 52;
const PAGE = 1000;
const POLL_INTERVAL = 2000;
// Bytes. If the stream delivers more at once, the first part would scroll by unseen: the end is fetched again instead,
// at most every `SKIP_EVERY` milliseconds.
const MAX_PIECE = 1 << 15;
const SKIP_INTERVAL = 200;

export class LogPager {
  /**
   * @param instance - the instance whose log is shown; null for all instances, merged by time.
   * @param changed - called after every change.
   */
  constructor(
    private readonly engine: IEngine,
    private readonly jobId: string,
    private readonly instance: string | null,
    private readonly changed: () => void
  ) {}

  readonly window = new LogWindow();
  /** New lines are appended as they arrive, and the view stays at the end. */
  isFollowing = false;
  error = '';

  /** Go to the end, and follow it while the job runs. */
  async follow(isRunning: boolean, lines = PAGE): Promise<void> {
    const controller = this.begin();
    this.isFollowing = isRunning;
    const page = await this.fetchPage({ before: END, lines }, controller.signal);
    if (!page) {
      return;
    }
    this.window.show(page);
    this.changed();
    if (isRunning) {
      page.ends.forEach((_end, instance) => this.subscribe(instance, controller.signal));
    }
  }

  /** Stop following. The number of lines is still updated while the job runs. */
  pause(isRunning: boolean): void {
    const controller = this.begin();
    this.isFollowing = false;
    void this.pollTotal(isRunning, controller.signal);
    this.changed();
  }

  /** Stop all activity until `follow` or `pause` is called. */
  stop(): void {
    this.controller.abort();
  }

  /** Load the lines around a line. */
  async show(line: number): Promise<void> {
    const { window } = this;
    if (line >= window.first && line < window.end) {
      return;
    }
    const { signal } = this.controller;
    const requests = [
      this.fetchPage({ before: line, lines: PAGE / 2 }, signal),
      this.fetchPage({ line, lines: PAGE }, signal)
    ];
    const [before, after] = await Promise.all(requests);
    if (before && after) {
      // A line number beyond the end shows the end.
      window.show(...(after.lines.length ? [before, after] : [before]));
      this.changed();
    }
  }

  /** Return the number of the line logged at a time; null if unknown. */
  async lineAt(at: string): Promise<number | null> {
    const page = await this.fetchPage({ at, lines: 1 }, this.controller.signal);
    return page && page.line;
  }

  /** Load the lines before the first loaded one. */
  async loadEarlier(): Promise<void> {
    const { first } = this.window;
    if (first > 0) {
      await this.exclusively(async signal => {
        const page = await this.fetchPage({ before: first, lines: PAGE }, signal);
        if (page) {
          this.window.prepend(page);
        }
      });
    }
  }

  /** Load the lines after the last loaded one. */
  async loadLater(): Promise<void> {
    const { window } = this;
    if (!window.isAtEnd) {
      await this.exclusively(async signal => {
        const page = await this.fetchPage({ line: window.end - (window.isOpen ? 1 : 0), lines: PAGE }, signal);
        if (page) {
          window.append(page);
        }
      });
    }
  }

  /** Find the first match from `line` on; with `back`, the last match before it. The search wraps around. */
  async search(query: ILogQuery, line: number, back: boolean, signal: AbortSignal): Promise<ILogMatch | null> {
    const { text, regex, case: isCase, errors } = query;
    const criteria = errors ? { errors } : { text, regex, case: isCase };
    const findFrom = async (from: number) => {
      const response = record(
        await this.engine.call('search', { ...this.logParameters, ...criteria, line: from, back })
      );
      const [match] = list(response['hits']).map(record);
      const [total, first] = [number(response['total']) ?? 0, number(response['first']) ?? 0];
      const isComplete = response['complete'] === true;
      return { total, isComplete, position: first + 1, line: match ? number(match['line']) : null };
    };
    let result = await findFrom(line);
    if (result.line === null && result.total > 0 && result.isComplete) {
      result = await findFrom(back ? END : 0);
    }
    return signal.aborted ? null : result;
  }

  private get logParameters(): Parameters {
    return { job: this.jobId, ...(this.instance === null ? { merged: true } : { instance: this.instance }) };
  }

  /** Abort the current activity and begin a new one. */
  private begin(): AbortController {
    this.controller.abort();
    this.controller = new AbortController();
    this.isFetching = false;
    return this.controller;
  }

  private async fetchPage(parameters: Parameters, signal: AbortSignal): Promise<ILogPage | null> {
    try {
      const page = parsePage(await this.engine.call('lines', { ...this.logParameters, ...parameters }));
      if (signal.aborted) {
        return null;
      }
      this.error = '';
      return page;
    } catch (error) {
      if (!signal.aborted) {
        this.error = error instanceof Error ? error.message : string(error);
        this.changed();
      }
      return null;
    }
  }

  private async exclusively(fetch: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (!this.isFetching) {
      const { signal } = this.controller;
      this.isFetching = true;
      await fetch(signal);
      if (!signal.aborted) {
        this.isFetching = false;
        this.changed();
      }
    }
  }

  private subscribe(instance: string, signal: AbortSignal): void {
    const offset = this.window.ends.get(instance) ?? 0;
    const isMerged = this.instance === null && this.window.ends.size > 1;
    this.engine.subscribe(
      { topic: 'log', job: this.jobId, instance, offset, latest: MAX_PIECE },
      message => {
        if (message.type === 'log' && message.offset !== this.window.ends.get(instance)) {
          this.skipToEnd();
          return;
        }
        if (message.type === 'log') {
          this.window.push(instance, message.text, message.end, isMerged);
        } else if (message.type === 'end') {
          this.window.finish(instance);
        }
        this.changed();
      },
      signal
    );
  }

  /** The job prints faster than lines can be shown: load the end again after a pause. */
  private skipToEnd(): void {
    const { signal } = this.begin();
    const timer = setTimeout(() => void this.follow(true, PAGE / 4), SKIP_INTERVAL);
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  private async pollTotal(isRunning: boolean, signal: AbortSignal): Promise<void> {
    const page = await this.fetchPage({ before: END, lines: 0 }, signal);
    if (page && page.total > this.window.total) {
      this.window.count(page.total);
      this.changed();
    }
    if (isRunning && !signal.aborted) {
      const timer = setTimeout(() => void this.pollTotal(isRunning, signal), POLL_INTERVAL);
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    }
  }

  private controller = new AbortController();
  private isFetching = false;
}
