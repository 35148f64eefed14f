/**
 * One displayed log: keeps the pager, the terminal and the scrollbar in sync.
 */

import type { IEngine } from '../api/engine.js';
import { LogPager } from './pager.js';
import { LogTerminal } from './terminal.js';

// The next page is fetched when fewer rows than this remain in the scroll direction.
const NEAR = 150;
const NOTHING = { from: 0, to: 0, text: '' };

/** The visible lines: number of the first, number after the last, and their text. */
export interface ISeen {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export class LogSession {
  /**
   * @param label - the accessible name of the terminal.
   * @param changed - called when the pager or the visible lines change.
   */
  constructor(
    engine: IEngine,
    jobId: string,
    instance: string | null,
    private readonly label: string,
    private readonly changed: () => void
  ) {
    this.pager = new LogPager(engine, jobId, instance, () => this.refresh());
  }

  readonly pager: LogPager;
  terminal: LogTerminal | null = null;
  seen: ISeen = NOTHING;

  /** Render into a node until the signal is aborted. `bar` is the element of the scrollbar. */
  async attach(node: HTMLElement, bar: HTMLElement, signal: AbortSignal): Promise<void> {
    const terminal = await LogTerminal.open(node, this.label);
    if (signal.aborted) {
      terminal.dispose();
      return;
    }
    this.terminal = terminal;
    this.bar = bar;
    terminal.drew = () => this.look();
    const sizes = new ResizeObserver(() => {
      terminal.fit();
      this.keepBar();
      this.lookSoon();
    });
    sizes.observe(node);
    // JupyterLab publishes its theme in these attributes.
    const themes = new MutationObserver(() => terminal.restyle());
    themes.observe(document.body, { attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light'] });
    const move = () => (this.hasMoved = true);
    ['wheel', 'touchmove', 'keydown'].forEach(kind => node.addEventListener(kind, move, { passive: true, signal }));
    node.addEventListener('wheel', event => this.hold(event), { passive: false, signal });
    node.querySelector('.xterm-viewport')?.addEventListener('scroll', () => this.lookSoon(), { passive: true, signal });
    terminal.terminal.attachCustomKeyEventHandler(event => this.press(event));
    signal.addEventListener('abort', () => {
      this.sleep();
      cancelAnimationFrame(this.frame);
      sizes.disconnect();
      themes.disconnect();
      terminal.dispose();
      this.terminal = null;
    });
    this.refresh();
  }

  /** The log became visible, or the job started or ended. */
  wake(isRunning: boolean): void {
    const isNews = !this.isAwake || isRunning !== this.isRunning;
    const wasAwake = this.isAwake;
    this.isAwake = true;
    this.isRunning = isRunning;
    if (isNews && this.isWantedAtEnd && !(wasAwake && this.pager.isFollowing)) {
      this.toEnd();
    } else if (isNews && !this.isWantedAtEnd) {
      this.pager.pause(isRunning);
    }
  }

  /** The log became hidden: stop all activity. */
  sleep(): void {
    this.isAwake = false;
    this.pager.stop();
  }

  /** Follow the end of the log; if the job has ended, go there. */
  toEnd(): void {
    this.isWantedAtEnd = true;
    this.hasMoved = false;
    void this.pager.follow(this.isRunning);
  }

  /** Scroll to a line, with `above` lines over it. `isMarked`: highlight it as a search result. */
  async go(line: number, above = 0, isMarked = false): Promise<void> {
    this.isWantedAtEnd = this.hasMoved = false;
    this.pager.pause(this.isRunning);
    await this.pager.show(line);
    const { first, end } = this.pager.window;
    this.terminal?.mark(isMarked ? line : null);
    this.terminal?.reveal(Math.min(Math.max(line - above, first), Math.max(end - 1, 0)));
    this.lookSoon();
  }

  /** Handle a scroll event of the scrollbar; ignore those caused by `moveBar`. */
  scrolledBar(): void {
    const { bar } = this;
    if (!bar?.clientHeight || Math.abs(bar.scrollTop - this.barPlace) < 2) {
      return;
    }
    this.barPlace = bar.scrollTop;
    const share = bar.scrollTop / Math.max(bar.scrollHeight - bar.clientHeight, 1);
    const { total } = this.pager.window;
    if (share > 0.9999) {
      this.toEnd();
    } else {
      void this.go(Math.floor(share * Math.max(total - (this.seen.to - this.seen.from), 0)));
    }
  }

  private refresh(): void {
    if (this.isAwake) {
      this.terminal?.draw(this.pager.window, () => this.isWantedAtEnd);
      this.changed();
    }
  }

  private lookSoon(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.look());
  }

  /**
   * Update the visible lines: pause when the user scrolled up, follow again at the end, and fetch the next page when it
   * is near.
   */
  private look(): void {
    const { terminal, pager } = this;
    // A hidden scrollbar has no position.
    if (!terminal || !this.isAwake || terminal.isDrawing || !this.bar?.clientHeight) {
      return;
    }
    const isLast = terminal.isAtBottom && pager.window.isAtEnd;
    if (!terminal.isAtBottom && this.hasMoved) {
      this.stay();
    } else if (isLast && this.hasMoved && this.isGoingDown && !this.isWantedAtEnd) {
      this.isWantedAtEnd = true;
      if (this.isRunning) {
        this.toEnd();
      }
    }
    const { line: from } = terminal.top();
    this.seen = pager.window.lines.length ? { from, to: terminal.bottom, text: terminal.seen(pager.window) } : NOTHING;
    this.moveBar(isLast);
    const { above, below } = terminal.slack;
    if (!this.isWantedAtEnd && above < NEAR && pager.window.first > 0) {
      void pager.earlier();
    } else if (!this.isWantedAtEnd && below < NEAR) {
      void pager.later();
    }
    this.changed();
  }

  /** The user scrolls up: pause at once, before pending lines are drawn. */
  private stay(): void {
    if (this.isWantedAtEnd) {
      this.isWantedAtEnd = false;
      this.pager.pause(this.isRunning);
    }
  }

  /**
   * Do not scroll the surrounding page before the end of the log is reached, since the next page may still be loading.
   */
  private hold(event: WheelEvent): void {
    const { window } = this.pager;
    const { above, below } = this.terminal?.slack ?? { above: 0, below: 0 };
    this.isGoingDown = event.deltaY > 0;
    if (event.deltaY < 0 && above > 0) {
      this.stay();
    }
    if (event.deltaY < 0 ? above > 0 || window.first > 0 : below > 0 || !window.isAtEnd) {
      event.preventDefault();
    }
  }

  /** Restore the position of the scrollbar, which browsers reset while it is hidden. */
  private keepBar(): void {
    if (this.bar?.clientHeight) {
      this.bar.scrollTop = this.barPlace;
      this.barPlace = this.bar.scrollTop;
    }
  }

  private moveBar(isLast: boolean): void {
    const { bar, seen } = this;
    if (bar) {
      const share = seen.from / Math.max(this.pager.window.total - (seen.to - seen.from), 1);
      bar.scrollTop = (isLast ? 1 : share) * (bar.scrollHeight - bar.clientHeight);
      this.barPlace = bar.scrollTop;
    }
  }

  /** Handle scroll keys. All others are left to the browser, such as copying, and Tab to leave the terminal. */
  private press(event: KeyboardEvent): boolean {
    const terminal = this.terminal?.terminal;
    const actions: Readonly<Record<string, () => void>> = {
      PageUp: () => this.up(() => terminal?.scrollPages(-1)),
      PageDown: () => this.down(() => terminal?.scrollPages(1)),
      ArrowUp: () => this.up(() => terminal?.scrollLines(-1)),
      ArrowDown: () => this.down(() => terminal?.scrollLines(1)),
      Home: () => void this.go(0),
      End: () => this.toEnd()
    };
    const action = event.type === 'keydown' ? actions[event.key] : undefined;
    if (action) {
      event.preventDefault();
      action();
    }
    return false;
  }

  private down(scroll: () => void): void {
    this.isGoingDown = true;
    scroll();
  }

  private up(scroll: () => void): void {
    this.isGoingDown = false;
    this.stay();
    scroll();
  }

  private bar: HTMLElement | null = null;
  private barPlace = 0;
  private frame = 0;
  private isAwake = false;
  private isRunning = false;
  private isWantedAtEnd = true;
  /** Whether the user scrolled since the last scroll by this class. */
  private hasMoved = false;
  private isGoingDown = true;
}
