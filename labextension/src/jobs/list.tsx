/**
 * The list of jobs. Only visible rows are rendered.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { compatibilityError } from '../api/compatibility.js';
import type { EngineError } from '../api/engine.js';
import { hasEnded } from '../api/wire.js';
import { hasRunEnded } from '../api/workflowrun.js';
import { Connection } from '../ui/connectionbanner.js';
import type { IContext } from '../ui/context.js';
import { useClock } from '../ui/context.js';
import { jobCount, plural } from '../ui/format.js';
import { useKeptFocus } from '../ui/hooks.js';
import { useRowWindow } from '../ui/virtualrows.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { JobSelection, remove } from './bulkactions.js';
import { JobFilters } from './filters.js';
import { JobsModel, NO_FILTERS } from './model.js';
import { JobRow, ROW } from './row.js';
import { Selection } from './selection.js';

interface IProps extends IContext {
  readonly model: JobsModel;
  /** A hidden list does no work. */
  readonly isVisible: boolean;
}

export function JobsList(props: IProps): React.JSX.Element {
  const { engine, model, trans, isVisible } = props;
  const [error, setError] = React.useState<EngineError | null>(null);
  const [selection, setSelection] = React.useState(Selection.NONE);
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const root = React.useRef<HTMLElement>(null);
  useKeptFocus(root);
  React.useEffect(() => void compatibilityError(engine, trans).then(setError), [engine, trans]);
  React.useEffect(() => {
    const changed = () => {
      setSelection(selected => selected.updated(model.known));
      redraw();
    };
    const deleted = (_: JobsModel, jobIds: readonly string[]) => setSelection(selected => selected.without(jobIds));
    model.changed.connect(changed);
    model.deleted.connect(deleted);
    return () => {
      model.changed.disconnect(changed);
      model.deleted.disconnect(deleted);
    };
  }, [model]);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    model.follow(controller.signal);
    return () => controller.abort();
  }, [model, isVisible]);
  const clear = () => setSelection(Selection.NONE);
  return (
    <section ref={root} className="jp-pai-Jobs" aria-label={trans.__('Training jobs')}>
      {error && <ErrorAlert message={error.message} fix={error.fix} />}
      {model.connection.state !== 'broken' && model.error && model.error.message !== error?.message && (
        <ErrorAlert message={model.error.message} fix={model.error.fix} />
      )}
      <Connection {...props} connection={model.connection} />
      <JobFilters {...props} query={model.query} known={model.known} search={change => model.search(change)} />
      <JobSelection {...props} selection={selection} clear={clear} />
      {selection.size === 0 && (
        // The toolbar of the selection takes the same space, so that rows do not move.
        <p className="jp-pai-Jobs-count" role="status">
          {model.total === null ? !model.error && trans.__('Loading…') : countText(model, model.total, trans)}
        </p>
      )}
      {model.total === 0 ? (
        <NoJobs {...props} />
      ) : (
        <Rows {...props} selection={selection} setSelection={setSelection} />
      )}
    </section>
  );
}

function ErrorAlert({ message, fix }: { message: string; fix: string }): React.JSX.Element {
  return (
    <p className="jp-pai-Jobs-trouble" role="alert">
      {message} {fix}
    </p>
  );
}

interface IRows extends IProps {
  readonly selection: Selection;
  readonly setSelection: React.Dispatch<React.SetStateAction<Selection>>;
}

function Rows(props: IRows): React.JSX.Element {
  const { model, trans, isVisible, selection } = props;
  const id = React.useId();
  const { box, first, count, reveal, top } = useRowWindow(ROW);
  React.useEffect(() => model.setVisibleRows(first, count), [model, first, count]);
  React.useEffect(() => top(), [model, model.query]);
  const total = model.total ?? 0;
  const rows = Array.from({ length: Math.max(Math.min(first + count, total) - first, 0) }, (_, n) => first + n);
  const now = useClock(isVisible && rows.some(row => isRunning(model, row)));
  const { current, open, toggle, onKeyDown } = useNavigation(props, Math.max(count - 2, 1), reveal);
  return (
    <div
      ref={box}
      className="jp-pai-Jobs-rows"
      role="listbox"
      tabIndex={0}
      aria-multiselectable
      aria-label={trans.__('Jobs')}
      aria-activedescendant={`${id}-${current}`}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: total * ROW }}>
        {rows.map(row => (
          <JobRow
            key={row}
            id={`${id}-${row}`}
            {...{ row, total, now, trans, open, toggle }}
            job={model.jobAt(row)}
            run={model.runAt(row)}
            isSelected={selection.has(model.jobAt(row)?.id ?? '')}
            isCurrent={row === current}
          />
        ))}
      </div>
    </div>
  );
}

interface INavigation {
  /** The focused row. */
  readonly current: number;
  readonly open: (row: number) => void;
  readonly toggle: (row: number, isRange: boolean) => void;
  readonly onKeyDown: (event: React.KeyboardEvent) => void;
}

/** Return the focused row of the list, and the handlers of mouse and keyboard. A page key moves by `page` rows. */
function useNavigation(props: IRows, page: number, reveal: (row: number) => void): INavigation {
  const { model, host, selection, setSelection } = props;
  const [current, setCurrent] = React.useState(0);
  const total = model.total ?? 0;
  const open = (row: number) => {
    const [job, run] = [model.jobAt(row), model.runAt(row)];
    setCurrent(row);
    if (run) {
      host.openWorkflow?.(run.id);
    } else if (job) {
      host.openJob?.(job.id);
    }
  };
  const extend = (from: number, to: number) =>
    void model
      .range(Math.min(from, to), Math.max(from, to) + 1)
      .then(jobs => setSelection(selected => selected.add(jobs)))
      .catch((error: unknown) => host.notify(String(error), 'error'));
  const toggle = (row: number, isRange: boolean) => {
    const job = model.jobAt(row);
    setCurrent(row);
    if (isRange) {
      extend(selection.size ? selection.anchor : current, row);
    } else if (job && !model.runAt(row)) {
      setSelection(selected => selected.toggle(job, row));
    }
  };
  const move = (row: number, isRange: boolean) => {
    const to = Math.min(Math.max(row, 0), total - 1);
    if (isRange) {
      extend(current, to);
    }
    setCurrent(to);
    reveal(to);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => move(current + 1, event.shiftKey),
      ArrowUp: () => move(current - 1, event.shiftKey),
      PageDown: () => move(current + page, event.shiftKey),
      PageUp: () => move(current - page, event.shiftKey),
      Home: () => move(0, event.shiftKey),
      End: () => move(total - 1, event.shiftKey),
      Enter: () => open(current),
      ' ': () => toggle(current, event.shiftKey),
      Escape: () => setSelection(Selection.NONE),
      Delete: () => void remove(props),
      ...(event.ctrlKey || event.metaKey ? { a: () => extend(0, total - 1) } : {})
    };
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      event.stopPropagation();
      action();
    }
  };
  return { current, open, toggle, onKeyDown };
}

function countText(model: JobsModel, total: number, trans: IContext['trans']): string {
  return model.hasRuns
    ? plural(total, trans.__('%1 job or workflow', total), trans.__('%1 jobs and workflows', total))
    : jobCount(total, trans);
}

/** Return whether the duration of a row is increasing. */
function isRunning(model: JobsModel, row: number): boolean {
  const [job, run] = [model.jobAt(row), model.runAt(row)];
  return run ? !hasRunEnded(run) : job !== null && job.startedAt !== null && !hasEnded(job);
}

export function NoJobs({ model, trans }: IContext & { readonly model: JobsModel }): React.JSX.Element {
  if (model.isFiltered) {
    return (
      <div className="jp-pai-Jobs-none">
        <p>{trans.__('No matching jobs.')}</p>
        <button type="button" onClick={() => model.search(NO_FILTERS)}>
          {trans.__('Show all jobs')}
        </button>
      </div>
    );
  }
  return (
    <div className="jp-pai-Jobs-none">
      <p>{trans.__('No jobs yet. To submit one, run these two cells in a notebook:')}</p>
      <pre>%load_ext jupyter_pai</pre>
      <pre>{'%%pai_train\nprint("trained")'}</pre>
      <p>{trans.__('To copy a tutorial notebook, run %1.', '%pai tutorial')}</p>
    </div>
  );
}

export class JobsPanel extends ReactWidget {
  constructor(private readonly context: IContext) {
    super();
    this.addClass('jp-pai-JobsPanel');
    this.node.lang = context.lang;
    this.model = new JobsModel(context.engine);
    this.visibility = new VisibilityObserver(this.node, () => this.update());
  }

  override dispose(): void {
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return <JobsList {...this.context} model={this.model} isVisible={this.visibility.isVisible} />;
  }

  private readonly model: JobsModel;
  private readonly visibility: VisibilityObserver;
}
