/**
 * Actions of the data explorer, with confirmations and result messages.
 */

import { errorText } from '../api/engine.js';
import { number, record, string, visible } from '../api/wire.js';
import { copyText } from '../host/clipboard.js';
import type { IContext } from '../ui/context.js';
import { count, fileCount } from '../ui/format.js';
import { droppedFiles } from './droppedfiles.js';
import type { IEntry } from './entries.js';
import { nameOf } from './entries.js';
import type { ExplorerModel, ILocation } from './model.js';
import type { Transfer } from './transfermodel.js';
import type { IItem } from './upload.js';
import { pause } from './upload.js';

// Maximum number of names in a question.
const MAX_NAMES = 5;
// Milliseconds between two downloads. Chromium drops downloads beyond ten per second.
const DOWNLOAD_INTERVAL = 200;

/** The context of the explorer. `useInput` adds a URI of a profile to the Train form; null without that form. */
export interface IExplorerContext extends IContext {
  readonly model: ExplorerModel;
  readonly useInput: ((uri: string, profile: string) => void) | null;
}

/** An action on the selected entries. */
export interface IAction {
  readonly id: string;
  readonly label: string;
  /** The keyboard shortcut. */
  readonly key?: string;
  readonly isEnabled: boolean;
  readonly run: () => Promise<void> | void;
}

export function actionsOf(explorer: IExplorerContext, report: (text: string) => void): readonly IAction[] {
  const { model, trans, host, useInput } = explorer;
  const selected = model.selectedEntries.filter(entry => !entry.problem);
  const [first] = selected;
  const isOne = selected.length === 1 && first !== undefined;
  const actions: readonly (IAction | null)[] = [
    {
      id: 'open',
      label: trans.__('Open'),
      key: 'Enter',
      isEnabled: isOne && first.isFolder,
      run: () => open(explorer, first)
    },
    useInput && {
      id: 'input',
      label: trans.__('Use as input'),
      isEnabled: isOne,
      run: () => first && useInput(first.uri, model.location?.root.profile ?? '')
    },
    {
      id: 'download',
      label: trans.__('Download'),
      isEnabled: selected.some(entry => !entry.isFolder),
      run: () => download(explorer, selected)
    },
    host.openFile
      ? {
          id: 'here',
          label: trans.__('Copy to workspace…'),
          isEnabled: selected.length > 0,
          run: () => copyToWorkspace(explorer, selected, report)
        }
      : null,
    { id: 'address', label: trans.__('Copy path'), isEnabled: isOne, run: () => copyPath(explorer, first) },
    {
      id: 'rename',
      label: trans.__('Rename…'),
      key: 'F2',
      isEnabled: isOne,
      run: () => rename(explorer, first, report)
    },
    {
      id: 'delete',
      label: trans.__('Delete…'),
      key: 'Delete',
      isEnabled: selected.length > 0,
      run: () => remove(explorer, selected, report)
    }
  ];
  return actions.flatMap(action => action ?? []);
}

/** Open a folder, or download a file. */
export async function open(explorer: IExplorerContext, entry: IEntry | undefined): Promise<void> {
  const { model } = explorer;
  if (entry?.isFolder) {
    await model.open(entry.uri, model.location?.root ?? null);
  } else if (entry && !entry.problem) {
    await download(explorer, [entry]);
  }
}

/** Open a typed path: a folder, or a file, which is selected in its folder. */
export async function goTo({ model }: IExplorerContext, text: string): Promise<void> {
  const uri = text.trim();
  if ((await model.open(uri)) && model.entries.length === 1 && model.entries[0]?.uri === uri) {
    await model.open(model.location?.uri ?? uri);
    model.reveal(uri);
  }
}

export async function makeFolder(explorer: IExplorerContext, report: (text: string) => void): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const { location } = model;
  const path = await host.askText(trans.__('New folder'), trans.__('Name'), '');
  if (location && path) {
    await attempt(explorer, async () => {
      const { uri, root } = location;
      const created = await engine.call('make_data_folder', {}, { uri, path, profile: root.profile });
      await model.refresh();
      model.reveal(string(record(created)['uri']));
      report(trans.__('Folder %1 created.', path));
    });
  }
}

/** Upload dropped files to the current folder. Must be called synchronously in the event handler. */
export async function dropFiles(
  explorer: IExplorerContext,
  data: DataTransfer,
  report: (text: string) => void
): Promise<void> {
  const { location } = explorer.model;
  await attempt(explorer, async () => upload(explorer, await droppedFiles(data), report, location));
}

export async function upload(
  explorer: IExplorerContext,
  items: readonly IItem[],
  report: (text: string) => void,
  location: ILocation | null = explorer.model.location
): Promise<void> {
  const { model, trans } = explorer;
  const [first] = items;
  if (location && first) {
    const label = items.length === 1 ? first.path : trans.__('%1 files', count(items.length));
    const target = { uri: location.uri, profile: location.root.profile };
    const transfer = await model.transfers.upload(trans.__('Upload %1', label), target, items);
    reportDone(transfer, trans.__('Uploaded %1', label), report);
  }
}

/** Copy files and folders of the workspace to the current folder. */
export async function copyFromWorkspace(
  explorer: IExplorerContext,
  paths: readonly string[],
  report: (text: string) => void
): Promise<void> {
  const { model, engine, trans } = explorer;
  const { location } = model;
  const copies = paths.map(async path => {
    const name = nameOf(path);
    const call = (overwrite: boolean) =>
      engine.call('put_data', {}, { uri: location?.uri, name, path, overwrite, profile: location?.root.profile });
    reportDone(await model.transfers.start(trans.__('Upload %1', name), call), trans.__('Uploaded %1', name), report);
  });
  await Promise.all(copies);
}

/** Ask for a workspace path and copy it to the current folder; the keyboard equivalent of dragging. */
export async function askAndCopyFromWorkspace(
  explorer: IExplorerContext,
  report: (text: string) => void
): Promise<void> {
  const { host, trans } = explorer;
  const title = trans.__('Copy from workspace');
  const path = await host.askText(title, trans.__('Workspace file or folder'), host.folder?.() ?? '');
  if (path) {
    await copyFromWorkspace(explorer, [path.replace(/^\/+|\/+$/g, '')], report);
  }
}

/** Copy workspace files and folders to a folder that the user enters; the default is the current one. */
export async function copyToFolder(
  explorer: IExplorerContext,
  paths: readonly string[],
  report: (text: string) => void
): Promise<void> {
  const { model, host, trans } = explorer;
  if (!model.location && !model.roots) {
    await model.loadRoots();
  }
  const defaultUri = model.location?.uri ?? model.roots?.filter(root => root.uri && root.writable).at(-1)?.uri ?? '';
  const title = trans.__('Copy %1 to storage', nameList(paths));
  const uri = (await host.askText(title, trans.__('Destination folder'), defaultUri))?.trim();
  if (uri && (uri === model.location?.uri || (await model.open(uri)))) {
    await copyFromWorkspace(explorer, paths, report);
  }
}

async function download(explorer: IExplorerContext, entries: readonly IEntry[]): Promise<void> {
  const { engine, model, host, trans } = explorer;
  const profile = model.location?.root.profile ?? '';
  const folders = entries.filter(entry => entry.isFolder).map(entry => entry.path);
  if (folders.length) {
    const text = trans.__('Folders cannot be downloaded: %1.', nameList(folders));
    host.notify(`${text} ${trans.__('Copy folders to the workspace instead.')}`, 'warning');
  }
  const files = entries.filter(entry => !entry.isFolder);
  for (const [n, { uri, path }] of files.entries()) {
    await (n ? pause(DOWNLOAD_INTERVAL) : undefined);
    const url = engine.url('data_file', { uri, profile });
    if (url !== null) {
      const link = document.createElement('a');
      link.href = url;
      link.download = nameOf(path);
      document.body.append(link);
      link.click();
      link.remove();
    }
  }
}

async function copyToWorkspace(
  explorer: IExplorerContext,
  entries: readonly IEntry[],
  report: (text: string) => void
): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const profile = model.location?.root.profile;
  const title = trans.__('Copy to workspace');
  const folder = await host.askText(title, trans.__('Workspace folder'), host.folder?.() ?? '');
  if (folder === null) {
    return;
  }
  const top = folder.replace(/^\/+|\/+$/g, '');
  const copies = entries.map(async ({ uri, path, isFolder }) => {
    const name = nameOf(path);
    const target = isFolder ? [top, name].filter(Boolean).join('/') : top;
    const call = (overwrite: boolean) => engine.call('get_data', {}, { uri, path: target, overwrite, profile });
    const transfer = await model.transfers.start(trans.__('Copy %1 to workspace', name), call);
    reportDone(transfer, trans.__('Copied %1 to workspace', name), report);
  });
  await Promise.all(copies);
}

async function copyPath({ host, trans }: IExplorerContext, entry: IEntry | undefined): Promise<void> {
  const isCopied = await copyText(entry?.uri ?? '');
  const text = isCopied ? trans.__('Path copied.') : trans.__('The browser blocked copying.');
  host.notify(text, isCopied ? 'success' : 'warning');
}

async function rename(
  explorer: IExplorerContext,
  entry: IEntry | undefined,
  report: (text: string) => void
): Promise<void> {
  const { model, engine, host, trans } = explorer;
  if (!entry) {
    return;
  }
  const oldName = nameOf(entry.path);
  const name = await host.askText(trans.__('Rename %1', oldName), trans.__('New name'), oldName);
  if (name && name !== oldName) {
    let newUri = '';
    const call = async () => {
      const response = await engine.call(
        'rename_data',
        {},
        { uri: entry.uri, name, profile: model.location?.root.profile }
      );
      newUri = string(record(response)['folder']);
      return response;
    };
    const transfer = await model.transfers.start(trans.__('Rename %1', oldName), call);
    await model.refresh();
    model.reveal(newUri);
    reportDone(transfer, trans.__('Renamed %1 to %2.', oldName, name), report);
    hideIfDone(explorer, transfer);
  }
}

async function remove(
  explorer: IExplorerContext,
  entries: readonly IEntry[],
  report: (text: string) => void
): Promise<void> {
  const { model, engine, host, trans } = explorer;
  const profile = model.location?.root.profile ?? '';
  const [first] = entries;
  if (!first) {
    return;
  }
  await attempt(explorer, async () => {
    let [files, bytes] = [0, 0];
    for (const entry of entries) {
      const folderSize = entry.isFolder ? record(await engine.call('measure_data', { uri: entry.uri, profile })) : null;
      files += folderSize ? (number(folderSize['files']) ?? 0) : 1;
      bytes += folderSize ? (number(folderSize['bytes']) ?? 0) : entry.bytes;
    }
    const text = [
      entries.length > 1 ? nameList(entries.map(entry => entry.path)) : '',
      fileCount(files, bytes, trans),
      trans.__('This cannot be undone.')
    ];
    const label = entries.length === 1 ? visible(nameOf(first.path)) : trans.__('%1 items', entries.length);
    const title = trans.__('Delete %1?', label);
    if (await host.confirm({ title, text: text.filter(Boolean).join('\n'), yes: trans.__('Delete'), warn: true })) {
      for (const { uri, path } of entries) {
        const call = () => engine.call('remove_data', { uri, profile });
        const transfer = await model.transfers.start(trans.__('Delete %1', visible(nameOf(path))), call);
        reportDone(transfer, trans.__('Deleted %1', visible(nameOf(path))), report);
        hideIfDone(explorer, transfer);
      }
    }
  });
}

/** Return a few names. */
function nameList(paths: readonly string[]): string {
  return [
    ...paths.slice(0, MAX_NAMES).map(path => visible(nameOf(path))),
    ...(paths.length > MAX_NAMES ? ['…'] : [])
  ].join(', ');
}

/** Remove the row of a transfer that finished immediately. */
function hideIfDone({ model }: IExplorerContext, transfer: Transfer): void {
  if (transfer.state === 'done') {
    model.transfers.hide(transfer);
  }
}

function reportDone(transfer: Transfer, message: string, report: (text: string) => void): void {
  if (transfer.state === 'done') {
    report(message);
  }
}

async function attempt({ host }: IExplorerContext, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    host.notify(errorText(error), 'error');
  }
}
