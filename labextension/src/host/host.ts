/**
 * The environment of a view: JupyterLab, Notebook 7, or a plain page. Optional methods are missing where the
 * environment does not support them; views then hide the corresponding controls.
 */

/** A yes/no question. `warn`: "yes" deletes something or costs money. */
export interface IQuestion {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly warn?: boolean;
}

/** The form that the profiles page opens: that of a profile, at its login if `atLogin`; or the form of a new platform. */
export interface IProfilesTarget {
  readonly profile?: string;
  readonly atLogin?: boolean;
  readonly isNew?: boolean;
  /** The backend of the new platform. Default: ask the user. */
  readonly backend?: string;
}

export interface IHost {
  /** Ask the user; return whether they agree. */
  confirm(question: IQuestion): Promise<boolean>;
  /** Ask the user for a text; null if they cancel. */
  askText(title: string, label: string, value: string): Promise<string | null>;
  /** Show a notification that closes automatically. */
  notify(text: string, kind: 'info' | 'success' | 'warning' | 'error'): void;
  /** Open the tab of a job. Closing it returns to the document with the path `back`. */
  openJob?(jobId: string, back?: string): void;
  /** Open the tab of a run of a workflow. Closing it returns to the document with the path `back`. */
  openWorkflow?(runId: string, back?: string): void;
  /** Open a comparison of several jobs. */
  compareJobs?(jobIds: readonly string[]): void;
  /** Open a folder of a storage in the Explorer, with the account of a profile; empty if it needs none. */
  openStorage?(uri: string, profile: string): void;
  /** Open the profiles page. */
  openProfiles?(target: IProfilesTarget): void;
  /** Open a file, by its path below the server root. */
  openFile?(path: string): void;
  /** Open a page of this server in a tab, by its URL. */
  openPage?(title: string, address: string): void;
  /** Open a terminal of this server and run a command in it. */
  openTerminal?(line: string): Promise<void>;
  /** Return the current folder of the file browser, below the server root. */
  folder?(): string;
  /** Report that folder whenever it changes, until `signal` is aborted. */
  watchFolder?(receive: (path: string) => void, signal: AbortSignal): void;
  /**
   * Report the path of the current or last active notebook, script or job file, below the server root, now and on every
   * change, until `signal` is aborted. Empty if there is none.
   */
  watchDocument?(receive: (path: string) => void, signal: AbortSignal): void;
  /** Return the path of that document; empty if there is none. */
  document?(): string;
  /** Report renamed open documents, until `signal` is aborted. */
  watchRenamed?(receive: (from: string, to: string) => void, signal: AbortSignal): void;
  /** Report the paths of unsaved open documents, until `signal` is aborted. */
  watchUnsaved?(receive: (paths: readonly string[]) => void, signal: AbortSignal): void;
  /** Save an open document. */
  save?(path: string): Promise<void>;
  /** Activate an open document; return whether there is one with this path. */
  show?(path: string): boolean;
  /** Insert a text as a new cell of an open notebook; return whether that succeeded. */
  insertCell?(path: string, text: string): Promise<boolean>;
}
