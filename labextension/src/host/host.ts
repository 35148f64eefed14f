/**
 * What surrounds a view: JupyterLab, Notebook 7, or a bare page. What a surrounding cannot do, it leaves out, and the
 * view shows no button for it.
 */

/** A question with two answers. `warn`: saying yes destroys something or costs something. */
export interface IQuestion {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly warn?: boolean;
}

export interface IHost {
  /** Whether the user says yes. */
  confirm(question: IQuestion): Promise<boolean>;
  /** The text that the user gives, null if none. */
  ask(title: string, label: string, value: string): Promise<string | null>;
  /** Say something that goes away by itself. */
  notify(text: string, kind: 'info' | 'success' | 'warning' | 'error'): void;
  /** Show a job in a tab of its own; from there the way leads back to the document with the path `back`. */
  openJob?(jobId: string, back?: string): void;
  /** Show several jobs beside each other. */
  compareJobs?(jobIds: readonly string[]): void;
  /** Open a file of the workspace, by its path below the server's root. */
  openFile?(path: string): void;
  /** Show a page of this server in a tab, by its address. */
  openPage?(title: string, address: string): void;
  /** Open a terminal of this server, and say a line in it. */
  openTerminal?(line: string): Promise<void>;
  /** The folder of the workspace that the user is in, below the server's root. */
  folder?(): string;
  /** Be told that folder whenever it is another one, until `signal` is aborted. */
  watchFolder?(receive: (path: string) => void, signal: AbortSignal): void;
  /**
   * Be told the path of the notebook that the user is in, or was in last, below the server's root, until `signal` is
   * aborted: now and whenever it is another. Empty if there is none.
   */
  watchNotebook?(receive: (path: string) => void, signal: AbortSignal): void;
  /** The path of that notebook; empty if there is none. */
  notebook?(): string;
  /** The path of the notebook or script that is in front; empty if something else is. */
  inFront?(): string;
  /** Be told whenever an open document gets another path, until `signal` is aborted. */
  watchRenamed?(receive: (from: string, to: string) => void, signal: AbortSignal): void;
  /** Be told which open documents have changes that are not saved, by their paths, until `signal` is aborted. */
  watchUnsaved?(receive: (paths: readonly string[]) => void, signal: AbortSignal): void;
  /** Save an open document. */
  save?(path: string): Promise<void>;
  /** Go to an open document; whether there is one with this path. */
  show?(path: string): boolean;
  /** Put a text into a new cell of an open notebook; whether that was possible. */
  insertCell?(path: string, text: string): Promise<boolean>;
}
