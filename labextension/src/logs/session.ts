/**
 * One log that somebody looks at: the pages, the terminal and the scrollbar of the whole, kept together.
 */

import type { IEngine } from '../api/engine.js';
import { LogPager } from './pager.js';
import { LogTerminal } from './terminal.js';

// Rows before the window's edge at which the next page is fetched.
const NEAR = 150;
const NOTHING = { from: 0, to: 0, text: '' };

/** The lines that are seen: the first one's number, the number after the last one, and their text. */
export interface ISeen {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export class LogSession {
  /**
   * @param label - what the terminal is called for a screen reader.
   * @param changed - is called when there is something new to say: of the pager, or of what is seen.
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

  /** Live in these boxes, until the signal is aborted. `bar` is the scrollbar. */
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
    // JupyterLab says of its theme there.
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

  /** Somebody looks; or the job has begun or ended. */
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

  /** Nobody looks: do nothing. */
  sleep(): void {
    this.isAwake = false;
    this.pager.stop();
  }

  /** Follow the log's end; of a job that has ended, go there. */
  toEnd(): void {
    this.isWantedAtEnd = true;
    this.hasMoved = false;
    void this.pager.follow(this.isRunning);
  }

  /** Have a line at the top, with so many others above it. `isMarked`: it is what was looked for. */
  async go(line: number, above = 0, isMarked = false): Promise<void> {
    this.isWantedAtEnd = this.hasMoved = false;
    this.pager.pause(this.isRunning);
    await this.pager.show(line);
    const { first, end } = this.pager.window;
    this.terminal?.mark(isMarked ? line : null);
    this.terminal?.reveal(Math.min(Math.max(line - above, first), Math.max(end - 1, 0)));
    this.lookSoon();
  }

  /** The scrollbar was moved, by us or by somebody. */
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

  /** See what is seen: stay where somebody scrolled to, follow again at the end, and fetch what is near. */
  private look(): void {
    const { terminal, pager } = this;
    // Out of sight there is nothing to see, and the scrollbar has no place.
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

  /** Somebody scrolls up: at once, since the next lines may be on their way to the screen. */
  private stay(): void {
    if (this.isWantedAtEnd) {
      this.isWantedAtEnd = false;
      this.pager.pause(this.isRunning);
    }
  }

  /** What is around does not scroll before the log's own end is reached: the next page may be on its way. */
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

  /** Out of sight the browser moves the scrollbar: nobody did. */
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

  /** Keys that scroll. The browser has all others: copying, and the tabulator that leaves. */
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
  /** Somebody scrolled since we last did. */
  private hasMoved = false;
  private isGoingDown = true;
}
