/**
 * The data explorer view.
 */

import * as React from 'react';

import { visible } from '../api/wire.js';
import { useChanges } from '../ui/context.js';
import { count, plural } from '../ui/format.js';
import { useKeptFocus } from '../ui/hooks.js';
import { popUp } from '../ui/menu.js';
import type { IAction, IExplorerContext } from './actions.js';
import { actionsOf, askAndCopyFromWorkspace, dropFiles, goTo, makeFolder, upload } from './actions.js';
import { chosenFiles } from './droppedfiles.js';
import type { IRoot } from './entries.js';
import { ExplorerRows } from './rows.js';
import { TransferList } from './transfers.js';
import '../../style/explorer.css';

interface IProps extends IExplorerContext {
  /** The result of the last action. */
  readonly message: string;
  readonly report: (text: string) => void;
}

export function Explorer(props: IProps): React.JSX.Element {
  const { model, trans, message, report } = props;
  const [isDragOver, setDragOver] = React.useState(false);
  useChanges(model);
  React.useEffect(() => {
    if (!model.roots) {
      void model.loadRoots();
    }
  }, [model]);
  const { location, error } = model;
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  React.useLayoutEffect(() => {
    // The focused element may be gone, or the focus waits for the content.
    if (box.current && [document.body, box.current].includes(document.activeElement as HTMLElement)) {
      focusContent(box.current);
    }
  }, [location?.uri, model.roots]);
  const hasFiles = (event: React.DragEvent) => model.canWrite && event.dataTransfer.types.includes('Files');
  const drop = (event: React.DragEvent) => {
    setDragOver(false);
    if (hasFiles(event)) {
      event.preventDefault();
      void dropFiles(props, event.dataTransfer, report);
    }
  };
  return (
    <section
      ref={box}
      tabIndex={-1}
      className="jp-pai-Explorer"
      aria-label={trans.__('Explorer')}
      data-drop={isDragOver}
      // Disables JupyterLab's shortcuts.
      data-lm-suppress-shortcuts="true"
      onDragOver={event => {
        if (hasFiles(event)) {
          event.preventDefault();
          setDragOver(true);
        }
      }}
      onDragLeave={event => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) {
          setDragOver(false);
        }
      }}
      onDrop={drop}
    >
      <PathBar {...props} />
      {error && (
        <p className="jp-pai-Jobs-trouble" role="alert">
          {error.message} {error.fix}
        </p>
      )}
      {location ? <Folder {...props} /> : <Roots {...props} />}
      <TransferList transfers={model.transfers} trans={trans} />
      <p className="jp-pai-Explorer-news" role="status">
        {message || statusText(props)}
      </p>
    </section>
  );
}

/** Focus the file table or the first root; if neither is rendered yet, the view itself. */
export function focusContent(node: HTMLElement): void {
  (node.querySelector<HTMLElement>('[role="grid"], .jp-pai-Explorer-roots button') ?? node).focus();
}

/** Describe the number of entries. */
function statusText({ model, trans }: IProps): string {
  if (model.isLoading) {
    return trans.__('Loading…');
  }
  if (!model.location) {
    return '';
  }
  if (model.selected.size) {
    return trans.__('%1 selected', count(model.selected.size));
  }
  const { length } = model.entries;
  return model.hasMore
    ? trans.__('More than %1 items', count(length))
    : plural(length, trans.__('%1 item', count(length)), trans.__('%1 items', count(length)));
}

/** Breadcrumbs, and a field for a path. */
function PathBar(props: IProps): React.JSX.Element {
  const { model, trans } = props;
  const currentUri = model.location?.uri ?? '';
  const [text, setText] = React.useState(currentUri);
  React.useEffect(() => setText(currentUri), [currentUri]);
  const breadcrumbs = model.location?.breadcrumbs ?? [];
  // An example path: a root of a profile, if there is any.
  const example = model.roots?.filter(root => root.uri).at(-1)?.uri;
  return (
    <>
      <nav className="jp-pai-Explorer-crumbs" aria-label={trans.__('Breadcrumbs')}>
        <button
          type="button"
          className="jp-pai-Link"
          aria-current={model.location ? undefined : 'location'}
          onClick={() => model.showRoots()}
        >
          {trans.__('Storages')}
        </button>
        {breadcrumbs.map(({ name, uri }, n) => (
          <React.Fragment key={uri}>
            <span aria-hidden>›</span>
            <button
              type="button"
              className="jp-pai-Link"
              aria-current={n === breadcrumbs.length - 1 ? 'location' : undefined}
              onClick={() => void model.open(uri, model.location?.root)}
            >
              {visible(name)}
            </button>
          </React.Fragment>
        ))}
      </nav>
      <form
        className="jp-pai-Explorer-address"
        onSubmit={event => {
          event.preventDefault();
          void goTo(props, text);
        }}
      >
        <input
          className="jp-pai-Input"
          aria-label={trans.__('Path')}
          placeholder={example}
          spellCheck={false}
          value={text}
          onChange={event => setText(event.target.value)}
        />
      </form>
    </>
  );
}

/** The list of roots. */
function Roots({ model, trans }: IProps): React.JSX.Element {
  return (
    <ul className="jp-pai-Explorer-roots">
      {model.roots?.map((root, n) => (
        <li key={n} data-scheme={root.scheme}>
          {root.uri ? (
            <button type="button" className="jp-pai-Link" onClick={() => void model.open(root.uri, root)}>
              {root.title}
            </button>
          ) : (
            <span>{root.title}</span>
          )}
          <span className="jp-pai-Channel-facts">{rootFacts(root)}</span>
          {root.problem && (
            <span className="jp-pai-Job-trouble">
              {root.problem} {root.fix}
            </span>
          )}
        </li>
      ))}
      {model.roots?.length === 0 && <li>{trans.__('No storages.')}</li>}
    </ul>
  );
}

function rootFacts({ scheme, profile, uri }: IRoot): string {
  return [`${scheme}://`, scheme === 'file' ? decodeURI(uri.slice('file://'.length)) : profile]
    .filter(Boolean)
    .join(' · ');
}

/** A folder: its toolbar and entries. */
function Folder(props: IProps): React.JSX.Element {
  const { model, trans, report } = props;
  const files = React.useRef<HTMLInputElement>(null);
  const folder = React.useRef<HTMLInputElement>(null);
  // Evaluated when the menu opens.
  const actions = () => actionsOf(props, report);
  const openMenu = (x: number, y: number) => popUp(trans.__('Actions'), actions(), x, y);
  const onFilesSelected = (event: React.ChangeEvent<HTMLInputElement>) => {
    const items = chosenFiles(event.target.files ?? []);
    event.target.value = ''; // Allows selecting the same files again.
    void upload(props, items, report);
  };
  const { canWrite } = model;
  const uploadActions = (): readonly IAction[] => [
    { id: 'files', label: trans.__('Files…'), isEnabled: true, run: () => files.current?.click() },
    { id: 'folder', label: trans.__('Folder…'), isEnabled: true, run: () => folder.current?.click() },
    {
      id: 'workspace',
      label: trans.__('From workspace…'),
      isEnabled: props.host.openFile !== undefined,
      run: () => askAndCopyFromWorkspace(props, report)
    }
  ];
  const button = (text: string, act: () => void, isOn = true) => (
    <button type="button" className="jp-pai-Button" disabled={!isOn} onClick={act}>
      {text}
    </button>
  );
  const menuButton = (text: string, items: () => readonly IAction[], isOn: boolean) => (
    <button
      type="button"
      className="jp-pai-Button"
      aria-haspopup="menu"
      disabled={!isOn}
      onClick={event => {
        const { left, bottom } = event.currentTarget.getBoundingClientRect();
        popUp(text, items(), left, bottom);
      }}
    >
      {text} <span aria-hidden>▾</span>
    </button>
  );
  return (
    <>
      <div className="jp-pai-Explorer-bar" role="toolbar" aria-label={trans.__('Folder actions')}>
        {button(trans.__('New folder…'), () => void makeFolder(props, report), canWrite)}
        {menuButton(trans.__('Upload'), uploadActions, canWrite)}
        {button(trans.__('Refresh'), () => void model.refresh())}
        {menuButton(trans.__('Actions'), actions, model.selected.size > 0)}
        <input ref={files} type="file" multiple hidden data-upload="files" onChange={onFilesSelected} />
        <input
          ref={folder}
          type="file"
          hidden
          data-upload="folder"
          onChange={onFilesSelected}
          {
            ...{ webkitdirectory: '' } /* Not declared by React. */
          }
        />
      </div>
      <ExplorerRows {...props} actions={actions} openMenu={openMenu} />
      {model.entries.length === 0 && !model.isLoading && (
        <p className="jp-pai-Explorer-none">
          {canWrite
            ? trans.__('This folder is empty. Drop files here to upload them.')
            : trans.__('This folder is empty.')}
        </p>
      )}
    </>
  );
}
