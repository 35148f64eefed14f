/**
 * A terminal that shows a window of a log. Loaded with the first log.
 */

import type { IDecoration, ITerminalOptions, Terminal } from '@xterm/xterm';

import { plainText, terminalText } from './text.js';
import type { LogWindow } from './window.js';

// More rows than the lines of a window take in a narrow view.
const SCROLLBACK = 60_000;
const MIN_COLUMNS = 20;
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
      this.pendingDraw = () => this.draw(window, isAtEnd);
      return;
    }
    if (window.version === this.version) {
      return;
    }
    const { line, rows } = this.topLine();
    const isFullRedraw = window.generation !== this.generation || this.isBeyondCursor();
    const from = isFullRedraw ? 0 : this.endOfComplete - this.first;
    const texts = window.lines.slice(from).map(line => terminalText(line, this.terminal.cols));
    const prefix = isFullRedraw
      ? CLEAR
      : this.isOpen
        ? this.eraseSequence()
        : this.endOfComplete > this.first
          ? '\r\n'
          : '';
    if (isFullRedraw) {
      this.terminal.clearSelection();
    }
    this.generation = window.generation;
    this.version = window.version;
    this.first = window.first;
    this.isOpen = window.isOpen;
    this.endOfComplete = window.end - (window.isOpen ? 1 : 0);
    this.endLine = window.end;
    this.isDrawing = true;
    this.terminal.write(prefix + texts.join('\r\n'), () => {
      this.isDrawing = false;
      this.starts = null;
      if (isAtEnd()) {
        this.terminal.scrollToBottom();
      } else if (isFullRedraw) {
        this.reveal(this.revealTarget ?? line, this.revealTarget === null ? rows : 0);
      }
      this.finishDraw();
    });
  }

  /** Return the number of the line at the top, and how many of its rows are scrolled out of view. */
  topLine(): { line: number; rows: number } {
    const starts = this.startRows();
    const { viewportY } = this.terminal.buffer.active;
    const below = starts.findIndex(row => row > viewportY);
    const k = Math.max((below < 0 ? starts.length : below) - 1, 0);
    return { line: this.endLine - starts.length + k, rows: viewportY - (starts[k] ?? 0) };
  }

  /** The number after the last visible line. */
  get lineAfterLast(): number {
    const starts = this.startRows();
    const under = this.terminal.buffer.active.viewportY + this.terminal.rows;
    const lastRow = starts.findIndex(row => row >= under);
    return this.endLine - (lastRow < 0 ? 0 : starts.length - lastRow);
  }

  get isAtBottom(): boolean {
    const { viewportY, baseY } = this.terminal.buffer.active;
    return viewportY >= baseY;
  }

  /** Number of rows that can be scrolled up and down within the window. */
  get scrollableRows(): { above: number; below: number } {
    const { viewportY, baseY } = this.terminal.buffer.active;
    return { above: viewportY, below: baseY - viewportY };
  }

  /** Scroll to a line, skipping its first `rows` rows, as soon as it is drawn. */
  reveal(line: number, rows = 0): void {
    const starts = this.startRows();
    const row = starts[line - (this.endLine - starts.length)];
    const isThere = !this.isDrawing && row !== undefined;
    this.revealTarget = isThere ? null : line;
    if (isThere) {
      this.terminal.scrollToLine(row + rows);
    }
  }

  /** Highlight a line and no other; null highlights none. */
  mark(line: number | null): void {
    this.markedLine = line;
    this.decorations.forEach(mark => mark.dispose());
    this.decorations = [];
    if (line === null) {
      return;
    }
    const starts = this.startRows();
    const k = line - (this.endLine - starts.length);
    const start = starts[k];
    if (start === undefined || this.isDrawing) {
      return;
    }
    const { baseY, cursorY, length } = this.terminal.buffer.active;
    const end = Math.min(starts[k + 1] ?? length, start + this.terminal.rows);
    for (let row = start; row < end; row++) {
      const marker = this.terminal.registerMarker(row - baseY - cursorY);
      const backgroundColor = cssColor(this.node, '--jp-warn-color2');
      const foregroundColor = '#000000';
      const width = this.terminal.cols;
      const mark = this.terminal.registerDecoration({ marker, backgroundColor, foregroundColor, width });
      if (mark) {
        this.decorations.push(mark);
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
    const columns = Math.max(Math.floor(this.node.clientWidth / width), MIN_COLUMNS);
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
    this.mark(this.markedLine);
    this.fit();
  }

  /** Return the visible lines as plain text. */
  visibleText(window: LogWindow): string {
    const [from, to] = [this.topLine().line - window.first, this.lineAfterLast - window.first];
    return window.lines.slice(Math.max(from, 0), Math.max(to, 0)).map(plainText).join('\n');
  }

  /** True if a write to the terminal is pending. */
  isDrawing = false;

  /** Called when all pending writes are drawn. */
  onDrawn: () => void = () => undefined;

  dispose(): void {
    this.onDrawn = () => undefined;
    this.pendingDraw = null;
    this.terminal.dispose();
  }

  private finishDraw(): void {
    const { pendingDraw: next } = this;
    this.pendingDraw = null;
    next?.();
    // The queued draw may have started another write.
    if (this.isDrawing) {
      return;
    }
    this.mark(this.markedLine);
    this.onDrawn();
  }

  /** Return the first row of each line. If the scrollback dropped rows, only the last lines are included. */
  private startRows(): readonly number[] {
    if (!this.starts) {
      const { active } = this.terminal.buffer;
      const last = active.baseY + active.cursorY;
      this.starts = [];
      for (let row = 0; row <= last && this.endLine > this.first; row++) {
        if (!active.getLine(row)?.isWrapped) {
          this.starts.push(row);
        }
      }
    }
    return this.starts;
  }

  /** Return the number of rows from the start of the last line to the cursor. */
  private rowsOfLastLine(): number {
    const { active } = this.terminal.buffer;
    let row = active.baseY + active.cursorY;
    const last = row;
    while (row > 0 && active.getLine(row)?.isWrapped) {
      row--;
    }
    return last - row;
  }

  /** Return whether the last line is open and starts above the rows the cursor can reach. */
  private isBeyondCursor(): boolean {
    return this.isOpen && this.rowsOfLastLine() > this.terminal.buffer.active.cursorY;
  }

  private eraseSequence(): string {
    const rows = this.rowsOfLastLine();
    return `${rows ? `\x1b[${rows}A` : ''}\r\x1b[J`;
  }

  private generation = -1;
  private version = -1;
  /** The drawn lines: number of the first, after the last complete one, and after the last one. */
  private first = 0;
  private endOfComplete = 0;
  private endLine = 0;
  private isOpen = false;
  private pendingDraw: (() => void) | null = null;
  private revealTarget: number | null = null;
  private starts: number[] | null = null;
  private markedLine: number | null = null;
  private decorations: IDecoration[] = [];
}

function options(node: HTMLElement): ITerminalOptions {
  const style = getComputedStyle(node);
  const color = (name: string) => cssColor(node, `--jp-${name}`);
  return {
    allowProposedApi: true,
    disableStdin: true,
    convertEol: false,
    cursorInactiveStyle: 'none',
    cursorStyle: 'underline',
    scrollback: SCROLLBACK,
    linkHandler: { activate: () => undefined },
    logLevel: 'off',
    minimumContrastRatio: 4.5,
    fontFamily: style.fontFamily,
    fontSize: parseFloat(style.fontSize) || 13,
    theme: {
      background: color('layout-color0'),
      foreground: color('content-font-color1'),
      cursor: color('layout-color0'),
      selectionBackground: color('brand-color3'),
      selectionInactiveBackground: color('brand-color3'),
      red: color('error-color1'),
      green: color('success-color1'),
      yellow: color('warn-color1'),
      blue: color('brand-color1')
    }
  };
}

/** Return the color of a CSS variable in a node, in the format of the library. */
function cssColor(node: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  node.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
  probe.remove();
  const hex = parts.slice(0, 3).map(part => Math.round(Number(part)).toString(16).padStart(2, '0'));
  return `#${hex.join('')}`;
}
