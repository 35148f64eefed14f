/**
 * A terminal that shows a window of a log. Loaded with the first log.
 */

import type { IDecoration, ITerminalOptions, Terminal } from '@xterm/xterm';

import { drawn, plain } from './text.js';
import type { LogWindow } from './window.js';

// More rows than the lines of a window take in a narrow view.
const MOST_ROWS = 60_000;
const LEAST_COLUMNS = 20;
// Sent together with the new content: a separate reset would flicker.
const CLEAR = '\x1b[0m\x1b[3J\x1b[2J\x1b[H';

export class LogTerminal {
  /** Create a terminal in a node. The library is loaded with the first one. */
  static async open(node: HTMLElement, label: string): Promise<LogTerminal> {
    const [{ Terminal }] = await Promise.all([import('@xterm/xterm'), import('@xterm/xterm/css/xterm.css')]);
    return new LogTerminal(node, new Terminal(options(node)), label);
  }

  private constructor(
    private readonly node: HTMLElement,
    readonly terminal: Terminal,
    label: string
  ) {
    terminal.open(node);
    terminal.textarea?.setAttribute('aria-label', label);
    this.fit();
  }

  /** Draw the changes of a window. After a full redraw, the line at the top stays in place. */
  draw(window: LogWindow, isAtEnd: () => boolean): void {
    if (this.isDrawing) {
      this.next = () => this.draw(window, isAtEnd);
      return;
    }
    if (window.version === this.version) {
      return;
    }
    const { line, rows } = this.top();
    const isNew = window.generation !== this.generation || this.isTall();
    const from = isNew ? 0 : this.end - this.first;
    const texts = window.lines.slice(from).map(one => drawn(one, this.terminal.cols));
    const before = isNew ? CLEAR : this.isOpen ? this.erasing() : this.end > this.first ? '\r\n' : '';
    if (isNew) {
      this.terminal.clearSelection();
    }
    this.generation = window.generation;
    this.version = window.version;
    this.first = window.first;
    this.isOpen = window.isOpen;
    this.end = window.end - (window.isOpen ? 1 : 0);
    this.lines = window.end;
    this.isDrawing = true;
    this.terminal.write(before + texts.join('\r\n'), () => {
      this.isDrawing = false;
      this.starts = null;
      if (isAtEnd()) {
        this.terminal.scrollToBottom();
      } else if (isNew) {
        this.reveal(this.target ?? line, this.target === null ? rows : 0);
      }
      this.afterwards();
    });
  }

  /** Return the number of the line at the top, and how many of its rows are scrolled out of view. */
  top(): { line: number; rows: number } {
    const starts = this.rowsOfLines();
    const { viewportY } = this.terminal.buffer.active;
    const below = starts.findIndex(row => row > viewportY);
    const k = Math.max((below < 0 ? starts.length : below) - 1, 0);
    return { line: this.lines - starts.length + k, rows: viewportY - (starts[k] ?? 0) };
  }

  /** The number after the last visible line. */
  get bottom(): number {
    const starts = this.rowsOfLines();
    const under = this.terminal.buffer.active.viewportY + this.terminal.rows;
    const seen = starts.findIndex(row => row >= under);
    return this.lines - (seen < 0 ? 0 : starts.length - seen);
  }

  get isAtBottom(): boolean {
    const { viewportY, baseY } = this.terminal.buffer.active;
    return viewportY >= baseY;
  }

  /** Number of rows that can be scrolled up and down within the window. */
  get slack(): { above: number; below: number } {
    const { viewportY, baseY } = this.terminal.buffer.active;
    return { above: viewportY, below: baseY - viewportY };
  }

  /** Scroll to a line, skipping its first `rows` rows, as soon as it is drawn. */
  reveal(line: number, rows = 0): void {
    const starts = this.rowsOfLines();
    const row = starts[line - (this.lines - starts.length)];
    const isThere = !this.isDrawing && row !== undefined;
    this.target = isThere ? null : line;
    if (isThere) {
      this.terminal.scrollToLine(row + rows);
    }
  }

  /** Highlight a line and no other; null highlights none. */
  mark(line: number | null): void {
    this.marked = line;
    this.marks.forEach(mark => mark.dispose());
    this.marks = [];
    if (line === null) {
      return;
    }
    const starts = this.rowsOfLines();
    const k = line - (this.lines - starts.length);
    const start = starts[k];
    if (start === undefined || this.isDrawing) {
      return;
    }
    const { baseY, cursorY, length } = this.terminal.buffer.active;
    const end = Math.min(starts[k + 1] ?? length, start + this.terminal.rows);
    for (let row = start; row < end; row++) {
      const marker = this.terminal.registerMarker(row - baseY - cursorY);
      const backgroundColor = colour(this.node, '--jp-warn-color2');
      const foregroundColor = '#000000';
      const width = this.terminal.cols;
      const mark = this.terminal.registerDecoration({ marker, backgroundColor, foregroundColor, width });
      if (mark) {
        this.marks.push(mark);
      }
    }
  }

  /** Resize the terminal to the available space. */
  fit(): void {
    const screen = this.node.querySelector('.xterm-screen')?.getBoundingClientRect();
    if (!screen || screen.width === 0) {
      return;
    }
    const [width, height] = [screen.width / this.terminal.cols, screen.height / this.terminal.rows];
    const columns = Math.max(Math.floor(this.node.clientWidth / width), LEAST_COLUMNS);
    const rows = Math.max(Math.floor(this.node.clientHeight / height), 2);
    if (columns !== this.terminal.cols || rows !== this.terminal.rows) {
      const isAtBottom = this.isAtBottom;
      this.terminal.resize(columns, rows);
      this.starts = null;
      if (isAtBottom) {
        this.terminal.scrollToBottom();
      }
    }
  }

  /** Apply JupyterLab's current colors and font. */
  restyle(): void {
    const { theme, fontFamily, fontSize } = options(this.node);
    Object.assign(this.terminal.options, { theme, fontFamily, fontSize });
    this.mark(this.marked);
    this.fit();
  }

  /** Return the visible lines as plain text. */
  seen(window: LogWindow): string {
    const [from, to] = [this.top().line - window.first, this.bottom - window.first];
    return window.lines.slice(Math.max(from, 0), Math.max(to, 0)).map(plain).join('\n');
  }

  /** Whether a write to the terminal is pending. */
  isDrawing = false;

  /** Called when all pending writes are drawn. */
  drew: () => void = () => undefined;

  dispose(): void {
    this.drew = () => undefined;
    this.next = null;
    this.terminal.dispose();
  }

  private afterwards(): void {
    const { next } = this;
    this.next = null;
    next?.();
    // The queued draw may have started another write.
    if (this.isDrawing) {
      return;
    }
    this.mark(this.marked);
    this.drew();
  }

  /** Return the first row of each line. If the scrollback dropped rows, only the last lines are included. */
  private rowsOfLines(): readonly number[] {
    if (!this.starts) {
      const { active } = this.terminal.buffer;
      const last = active.baseY + active.cursorY;
      this.starts = [];
      for (let row = 0; row <= last && this.lines > this.first; row++) {
        if (!active.getLine(row)?.isWrapped) {
          this.starts.push(row);
        }
      }
    }
    return this.starts;
  }

  /** Return the number of rows from the start of the last line to the cursor. */
  private rowsBack(): number {
    const { active } = this.terminal.buffer;
    let row = active.baseY + active.cursorY;
    const last = row;
    while (row > 0 && active.getLine(row)?.isWrapped) {
      row--;
    }
    return last - row;
  }

  /** Whether the last line is open and starts above the rows the cursor can reach. */
  private isTall(): boolean {
    return this.isOpen && this.rowsBack() > this.terminal.buffer.active.cursorY;
  }

  private erasing(): string {
    const rows = this.rowsBack();
    return `${rows ? `\x1b[${rows}A` : ''}\r\x1b[J`;
  }

  private generation = -1;
  private version = -1;
  /** The drawn lines: number of the first, after the last complete one, and after the last one. */
  private first = 0;
  private end = 0;
  private lines = 0;
  private isOpen = false;
  private next: (() => void) | null = null;
  private target: number | null = null;
  private starts: number[] | null = null;
  private marked: number | null = null;
  private marks: IDecoration[] = [];
}

function options(node: HTMLElement): ITerminalOptions {
  const style = getComputedStyle(node);
  const of = (name: string) => colour(node, `--jp-${name}`);
  return {
    allowProposedApi: true,
    disableStdin: true,
    convertEol: false,
    cursorInactiveStyle: 'none',
    cursorStyle: 'underline',
    scrollback: MOST_ROWS,
    linkHandler: { activate: () => undefined },
    logLevel: 'off',
    minimumContrastRatio: 4.5,
    fontFamily: style.fontFamily,
    fontSize: parseFloat(style.fontSize) || 13,
    theme: {
      background: of('layout-color0'),
      foreground: of('content-font-color1'),
      cursor: of('layout-color0'),
      selectionBackground: of('brand-color3'),
      selectionInactiveBackground: of('brand-color3'),
      red: of('error-color1'),
      green: of('success-color1'),
      yellow: of('warn-color1'),
      blue: of('brand-color1')
    }
  };
}

/** Return the color of a CSS variable in a node, in the format of the library. */
function colour(node: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  node.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
  probe.remove();
  const hex = parts.slice(0, 3).map(part => Math.round(Number(part)).toString(16).padStart(2, '0'));
  return `#${hex.join('')}`;
}
