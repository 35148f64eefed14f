/**
 * Actions of the data explorer, with confirmations and result messages.
 */

import { number, record, string } from '../api/wire.js';
import { copy } from '../host/clipboard.js';
import { said } from '../outputs/model.js';
import type { IContext } from '../ui/context.js';
import { count, fileCount } from '../ui/format.js';
import { droppedFiles } from './droppedfiles.js';
import type { IEntry } from './entries.js';
import { nameOf } from './entries.js';
import type { ExplorerModel, IPlace } from './model.js';
import type { Transfer } from './transfermodel.js';
import type { IItem } from './upload.js';
import { pause } from './upload.js';

// Maximum number of names in a question.
const NAMED = 5;
// Milliseconds between two downloads. Chromium drops downloads beyond ten per second.
const BETWEEN = 200;

/** The context of the explorer. `useInput` adds a URI of a profile to the Train form; null without that form. */
export interface IExplorer extends IContext {
  readonly model: ExplorerModel;
  readonly useInput: ((uri: string, profile: string) => void) | null;
}

/** An action on the selected entries. */
export interface IAction {
  readonly id: string;
  readonly label: string;
  /** The keyboard shortcut. */
  readonly key?: string;
  readonly isOn: boolean;
  readonly run: () => Promise<void> | void;
}

export function actionsOf(explorer: IExplorer, say: (text: string) => void): readonly IAction[] {
  const { model, trans, host, useInput } = explorer;
  const chosen = model.chosen.filter(entry => !entry.problem);
  const [first] = chosen;
  const isOne = chosen.length === 1 && first !== undefined;
  const actions: readonly (IAction | null)[] = [
    {
      id: 'open',
      label: trans.__('Open'),
      key: 'Enter',
      isOn: isOne && first.isFolder,
      run: () => open(explorer, first)
    },
    useInput && {
      id: 'input',
      label: trans.__('Use as input'),
      isOn: isOne,
      run: () => first && useInput(first.uri, model.place?.root.profile ?? '')
    },
    {
      id: 'download',
      label: trans.__('Download'),
      isOn: chosen.some(entry => !entry.isFolder),
      run: () => download(explorer, chosen)
    },
    host.openFile
      ? {
          id: 'here',
          label: trans.__('Copy to workspace…'),
          isOn: chosen.length > 0,
          run: () => copyHere(explorer, chosen, say)
        }
      : null,
    { id: 'address', label: trans.__('Copy path'), isOn: isOne, run: () => copyAddress(explorer, first) },
    { id: 'rename', label: trans.__('Rename…'), key: 'F2', isOn: isOne, run: () => rename(explorer, first, say) },
    {
      id: 'delete',
      label: trans.__('Delete…'),
      key: 'Delete',
      isOn: chosen.length > 0,
      run: () => remove(explorer, chosen, say)
    }
  ];
  return actions.flatMap(action => action ?? []);
}

/** Open a folder, or download a file. */
export async function open(explorer: IExplorer, entry: IEntry | undefined): Promise<void> {
  const { model } = explorer;
  if (entry?.isFolder) {
    await model.open(entry.uri, model.place?.root ?? null);
  } else if (entry && !entry.problem) {
    await download(explorer, [entry]);
  }
}

/** Open a typed path: a folder, or a file, which is selected in its folder. */
export async function goTo({ model }: IExplorer, text: string): Promise<void> {
  const uri = text.trim();
  if ((await model.open(uri)) && model.entries.length === 1 && model.entries[0]?.uri === uri) {
    await model.open(model.place?.uri ?? uri);
    model.reveal(uri);
  }
}

export async function makeFolder(explorer: IExplorer, say: (text: string) => void): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const { place } = model;
  const path = await host.ask(trans.__('New folder'), trans.__('Name'), '');
  if (place && path) {
    await attempt(explorer, async () => {
      const { uri, root } = place;
      const made = await engine.call('make_data_folder', {}, { uri, path, profile: root.profile });
      await model.refresh();
      model.reveal(string(record(made)['uri']));
      say(trans.__('Folder %1 created.', path));
    });
  }
}

/** Upload dropped files to the current folder. Must be called synchronously in the event handler. */
export async function dropFiles(
  explorer: IExplorer,
  dropped: DataTransfer,
  say: (text: string) => void
): Promise<void> {
  const { place } = explorer.model;
  await attempt(explorer, async () => upload(explorer, await droppedFiles(dropped), say, place));
}

export async function upload(
  explorer: IExplorer,
  items: readonly IItem[],
  say: (text: string) => void,
  place: IPlace | null = explorer.model.place
): Promise<void> {
  const { model, trans } = explorer;
  const [first] = items;
  if (place && first) {
    const what = items.length === 1 ? first.path : trans.__('%1 files', count(items.length));
    const target = { uri: place.uri, profile: place.root.profile };
    const transfer = await model.transfers.upload(trans.__('Upload %1', what), target, items);
    tell(transfer, trans.__('Uploaded %1', what), say);
  }
}

/** Copy files and folders of the workspace to the current folder. */
export async function put(explorer: IExplorer, paths: readonly string[], say: (text: string) => void): Promise<void> {
  const { model, engine, trans } = explorer;
  const { place } = model;
  const copies = paths.map(async path => {
    const name = nameOf(path);
    const call = (overwrite: boolean) =>
      engine.call('put_data', {}, { uri: place?.uri, name, path, overwrite, profile: place?.root.profile });
    tell(await model.transfers.begin(trans.__('Upload %1', name), call), trans.__('Uploaded %1', name), say);
  });
  await Promise.all(copies);
}

/** Ask for a workspace path and copy it to the current folder; the keyboard equivalent of dragging. */
export async function putFromWorkspace(explorer: IExplorer, say: (text: string) => void): Promise<void> {
  const { host, trans } = explorer;
  const title = trans.__('Copy from workspace');
  const path = await host.ask(title, trans.__('Workspace file or folder'), host.folder?.() ?? '');
  if (path) {
    await put(explorer, [path.replace(/^\/+|\/+$/g, '')], say);
  }
}

/** Copy workspace files and folders to a folder that the user enters; the default is the current one. */
export async function bring(explorer: IExplorer, paths: readonly string[], say: (text: string) => void): Promise<void> {
  const { model, host, trans } = explorer;
  if (!model.place && !model.roots) {
    await model.start();
  }
  const here = model.place?.uri ?? model.roots?.filter(root => root.uri && root.writable).at(-1)?.uri ?? '';
  const title = trans.__('Copy %1 to storage', named(paths));
  const uri = (await host.ask(title, trans.__('Destination folder'), here))?.trim();
  if (uri && (uri === model.place?.uri || (await model.open(uri)))) {
    await put(explorer, paths, say);
  }
}

async function download(explorer: IExplorer, entries: readonly IEntry[]): Promise<void> {
  const { engine, model, host, trans } = explorer;
  const profile = model.place?.root.profile ?? '';
  const folders = entries.filter(entry => entry.isFolder).map(entry => entry.path);
  if (folders.length) {
    const text = trans.__('Folders cannot be downloaded: %1.', named(folders));
    host.notify(`${text} ${trans.__('Copy folders to the workspace instead.')}`, 'warning');
  }
  const files = entries.filter(entry => !entry.isFolder);
  for (const [n, { uri, path }] of files.entries()) {
    await (n ? pause(BETWEEN) : undefined);
    const address = engine.address('data_file', { uri, profile });
    if (address !== null) {
      const link = document.createElement('a');
      link.href = address;
      link.download = nameOf(path);
      document.body.append(link);
      link.click();
      link.remove();
    }
  }
}

async function copyHere(explorer: IExplorer, entries: readonly IEntry[], say: (text: string) => void): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const profile = model.place?.root.profile;
  const title = trans.__('Copy to workspace');
  const folder = await host.ask(title, trans.__('Workspace folder'), host.folder?.() ?? '');
  if (folder === null) {
    return;
  }
  const top = folder.replace(/^\/+|\/+$/g, '');
  const copies = entries.map(async ({ uri, path, isFolder }) => {
    const name = nameOf(path);
    const target = isFolder ? [top, name].filter(Boolean).join('/') : top;
    const call = (overwrite: boolean) => engine.call('get_data', {}, { uri, path: target, overwrite, profile });
    const transfer = await model.transfers.begin(trans.__('Copy %1 to workspace', name), call);
    tell(transfer, trans.__('Copied %1 to workspace', name), say);
  });
  await Promise.all(copies);
}

async function copyAddress({ host, trans }: IExplorer, entry: IEntry | undefined): Promise<void> {
  const isCopied = await copy(entry?.uri ?? '');
  const text = isCopied ? trans.__('Path copied.') : trans.__('The browser blocked copying.');
  host.notify(text, isCopied ? 'success' : 'warning');
}

async function rename(explorer: IExplorer, entry: IEntry | undefined, say: (text: string) => void): Promise<void> {
  const { model, engine, host, trans } = explorer;
  if (!entry) {
    return;
  }
  const before = nameOf(entry.path);
  const name = await host.ask(trans.__('Rename %1', before), trans.__('New name'), before);
  if (name && name !== before) {
    let moved = '';
    const call = async () => {
      const begun = await engine.call('rename_data', {}, { uri: entry.uri, name, profile: model.place?.root.profile });
      moved = string(record(begun)['folder']);
      return begun;
    };
    const transfer = await model.transfers.begin(trans.__('Rename %1', before), call);
    await model.refresh();
    model.reveal(moved);
    tell(transfer, trans.__('Renamed %1 to %2.', before, name), say);
    settle(explorer, transfer);
  }
}

async function remove(explorer: IExplorer, entries: readonly IEntry[], say: (text: string) => void): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const profile = model.place?.root.profile ?? '';
  const [first] = entries;
  if (!first) {
    return;
  }
  await attempt(explorer, async () => {
    let [files, bytes] = [0, 0];
    for (const entry of entries) {
      const found = entry.isFolder ? record(await engine.call('measure_data', { uri: entry.uri, profile })) : null;
      files += found ? (number(found['files']) ?? 0) : 1;
      bytes += found ? (number(found['bytes']) ?? 0) : entry.bytes;
    }
    const text = [
      entries.length > 1 ? named(entries.map(entry => entry.path)) : '',
      fileCount(files, bytes, trans),
      trans.__('This cannot be undone.')
    ];
    const what = entries.length === 1 ? nameOf(first.path) : trans.__('%1 items', entries.length);
    const title = trans.__('Delete %1?', what);
    if (await host.confirm({ title, text: text.filter(Boolean).join('\n'), yes: trans.__('Delete'), warn: true })) {
      for (const { uri, path } of entries) {
        const call = () => engine.call('remove_data', { uri, profile });
        const transfer = await model.transfers.begin(trans.__('Delete %1', nameOf(path)), call);
        tell(transfer, trans.__('Deleted %1', nameOf(path)), say);
        settle(explorer, transfer);
      }
    }
  });
}

/** Return a few names. */
function named(paths: readonly string[]): string {
  return [...paths.slice(0, NAMED).map(nameOf), ...(paths.length > NAMED ? ['…'] : [])].join(', ');
}

/** Remove the row of a transfer that finished immediately. */
function settle({ model }: IExplorer, transfer: Transfer): void {
  if (transfer.state === 'done') {
    model.transfers.hide(transfer);
  }
}

function tell(transfer: Transfer, done: string, say: (text: string) => void): void {
  if (transfer.state === 'done') {
    say(done);
  }
}

async function attempt({ host }: IExplorer, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    host.notify(said(error), 'error');
  }
}
