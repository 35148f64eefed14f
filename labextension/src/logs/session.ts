/**
 * One displayed log: keeps the pager, the terminal and the scrollbar in sync.
 */

import type { IEngine } from '../api/engine.js';
import { LogPager } from './pager.js';
import { LogTerminal } from './terminal.js';

// The next page is fetched when fewer rows than this remain in the scroll direction.
const PREFETCH_ROWS = 150;
const NOTHING = { from: 0, to: 0, text: '' };

/** The visible lines: number of the first, number after the last, and their text. */
export interface IVisibleLines {
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
  visible: IVisibleLines = NOTHING;

  /** Render into a node until the signal is aborted. `bar` is the element of the scrollbar. */
  async attach(node: HTMLElement, bar: HTMLElement, signal: AbortSignal): Promise<void> {
    const terminal = await LogTerminal.open(node, this.label);
    if (signal.aborted) {
      terminal.dispose();
      return;
    }
    this.terminal = terminal;
    this.bar = bar;
    terminal.onDrawn = () => this.update();
    const sizes = new ResizeObserver(() => {
      terminal.fit();
      this.restoreBar();
      this.scheduleUpdate();
    });
    sizes.observe(node);
    // JupyterLab publishes its theme in these attributes.
    const themes = new MutationObserver(() => terminal.restyle());
    themes.observe(document.body, { attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light'] });
    const move = () => (this.hasUserScrolled = true);
    ['wheel', 'touchmove', 'keydown'].forEach(kind => node.addEventListener(kind, move, { passive: true, signal }));
    // A selection that is dragged over the edge scrolls.
    node.addEventListener('mousemove', event => event.buttons > 0 && move(), { passive: true, signal });
    node.addEventListener('wheel', event => this.handleWheel(event), { passive: false, signal });
    node
      .querySelector('.xterm-viewport')
      ?.addEventListener('scroll', () => this.scheduleUpdate(), { passive: true, signal });
    terminal.terminal.attachCustomKeyEventHandler(event => this.handleKey(event));
    signal.addEventListener('abort', () => {
      this.suspend();
      cancelAnimationFrame(this.frame);
      sizes.disconnect();
      themes.disconnect();
      terminal.dispose();
      this.terminal = null;
    });
    this.refresh();
  }

  /** The log became visible, or the job started or ended. */
  resume(isRunning: boolean): void {
    const hasChanged = !this.isActive || isRunning !== this.isRunning;
    const wasActive = this.isActive;
    this.isActive = true;
    this.isRunning = isRunning;
    if (hasChanged && this.isPinnedToEnd && !(wasActive && this.pager.isFollowing)) {
      this.jumpToEnd();
    } else if (hasChanged && !this.isPinnedToEnd) {
      this.pager.pause(isRunning);
    }
  }

  /** The log became hidden: stop all activity. */
  suspend(): void {
    this.isActive = false;
    this.pager.stop();
  }

  /** Follow the end of the log; if the job has ended, go there. */
  jumpToEnd(): void {
    this.isPinnedToEnd = true;
    this.hasUserScrolled = false;
    void this.pager.follow(this.isRunning);
  }

  /** Scroll to a line, with `above` lines over it. `isMarked`: highlight it as a search result. */
  async goToLine(line: number, above = 0, isMarked = false): Promise<void> {
    this.isPinnedToEnd = this.hasUserScrolled = false;
    this.pager.pause(this.isRunning);
    await this.pager.show(line);
    const { first, end } = this.pager.window;
    this.terminal?.mark(isMarked ? line : null);
    this.terminal?.reveal(Math.min(Math.max(line - above, first), Math.max(end - 1, 0)));
    this.scheduleUpdate();
  }

  /** Handle a scroll event of the scrollbar; ignore those caused by `moveBar`. */
  handleBarScroll(): void {
    const { bar } = this;
    if (!bar?.clientHeight || Math.abs(bar.scrollTop - this.barPosition) < 2) {
      return;
    }
    this.barPosition = bar.scrollTop;
    const share = bar.scrollTop / Math.max(bar.scrollHeight - bar.clientHeight, 1);
    const { total } = this.pager.window;
    if (share > 0.9999) {
      this.jumpToEnd();
    } else {
      void this.goToLine(Math.floor(share * Math.max(total - (this.visible.to - this.visible.from), 0)));
    }
  }

  private refresh(): void {
    if (this.isActive) {
      this.terminal?.draw(this.pager.window, () => this.isPinnedToEnd);
      this.changed();
    }
  }

  private scheduleUpdate(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.update());
  }

  /**
   * Update the visible lines: pause when the user scrolled up, follow again at the end, and fetch the next page when it
   * is near.
   */
  private update(): void {
    const { terminal, pager } = this;
    // A hidden scrollbar has no position.
    if (!terminal || !this.isActive || terminal.isDrawing || !this.bar?.clientHeight) {
      return;
    }
    if (this.isPinnedToEnd && !this.hasUserScrolled) {
      // The library takes a late event of its own scrolling for the user's, and stays a row above the end.
      terminal.terminal.scrollToBottom();
    }
    const isLast = terminal.isAtBottom && pager.window.isAtEnd;
    if (!terminal.isAtBottom && this.hasUserScrolled) {
      this.pauseAtUser();
    } else if (isLast && this.hasUserScrolled && this.isScrollingDown && !this.isPinnedToEnd) {
      this.isPinnedToEnd = true;
      if (this.isRunning) {
        this.jumpToEnd();
      }
    }
    const { line: from } = terminal.topLine();
    this.visible = pager.window.lines.length
      ? { from, to: terminal.lineAfterLast, text: terminal.visibleText(pager.window) }
      : NOTHING;
    this.moveBar(isLast);
    const { above, below } = terminal.scrollableRows;
    if (!this.isPinnedToEnd && above < PREFETCH_ROWS && pager.window.first > 0) {
      void pager.loadEarlier();
    } else if (!this.isPinnedToEnd && below < PREFETCH_ROWS) {
      void pager.loadLater();
    }
    this.changed();
  }

  /** The user scrolls up: pause at once, before pending lines are drawn. */
  private pauseAtUser(): void {
    if (this.isPinnedToEnd) {
      this.isPinnedToEnd = false;
      this.pager.pause(this.isRunning);
    }
  }

  /**
   * Do not scroll the surrounding page before the end of the log is reached, since the next page may still be loading.
   */
  private handleWheel(event: WheelEvent): void {
    const { window } = this.pager;
    const { above, below } = this.terminal?.scrollableRows ?? { above: 0, below: 0 };
    this.isScrollingDown = event.deltaY > 0;
    if (event.deltaY < 0 && above > 0) {
      this.pauseAtUser();
    }
    if (event.deltaY < 0 ? above > 0 || window.first > 0 : below > 0 || !window.isAtEnd) {
      event.preventDefault();
    }
  }

  /** Restore the position of the scrollbar, which browsers reset while it is hidden. */
  private restoreBar(): void {
    if (this.bar?.clientHeight) {
      this.bar.scrollTop = this.barPosition;
      this.barPosition = this.bar.scrollTop;
    }
  }

  private moveBar(isLast: boolean): void {
    const { bar, visible } = this;
    if (bar) {
      const share = visible.from / Math.max(this.pager.window.total - (visible.to - visible.from), 1);
      bar.scrollTop = (isLast ? 1 : share) * (bar.scrollHeight - bar.clientHeight);
      this.barPosition = bar.scrollTop;
    }
  }

  /** Handle scroll keys. All others are left to the browser, such as copying, and Tab to leave the terminal. */
  private handleKey(event: KeyboardEvent): boolean {
    const terminal = this.terminal?.terminal;
    const actions: Readonly<Record<string, () => void>> = {
      PageUp: () => this.scrollUp(() => terminal?.scrollPages(-1)),
      PageDown: () => this.scrollDown(() => terminal?.scrollPages(1)),
      ArrowUp: () => this.scrollUp(() => terminal?.scrollLines(-1)),
      ArrowDown: () => this.scrollDown(() => terminal?.scrollLines(1)),
      Home: () => void this.goToLine(0),
      End: () => this.jumpToEnd()
    };
    const action = event.type === 'keydown' ? actions[event.key] : undefined;
    if (action) {
      event.preventDefault();
      action();
    }
    return false;
  }

  private scrollDown(scroll: () => void): void {
    this.isScrollingDown = true;
    scroll();
  }

  private scrollUp(scroll: () => void): void {
    this.isScrollingDown = false;
    this.pauseAtUser();
    scroll();
  }

  private bar: HTMLElement | null = null;
  private barPosition = 0;
  private frame = 0;
  private isActive = false;
  private isRunning = false;
  private isPinnedToEnd = true;
  /** True if the user scrolled since the last scroll by this class. */
  private hasUserScrolled = false;
  private isScrollingDown = true;
}
