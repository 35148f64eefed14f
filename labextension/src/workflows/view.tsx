/**
 * The view of a run: its header with actions, and its steps as a graph or a table.
 */

import * as React from 'react';

import type { IRun } from '../api/workflowrun.js';
import { hasRunEnded, hasStepEnded, parseRun } from '../api/workflowrun.js';
import type { IContext } from '../ui/context.js';
import { useClock } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { duration, moment } from '../ui/format.js';
import { useKeptFocus, useTask } from '../ui/hooks.js';
import { keepPlainKey } from '../ui/keys.js';
import { usePolling } from '../ui/polling.js';
import { StatusBadge } from '../ui/statusbadge.js';
import { deleteRun, resumeRun, stopRun } from './actions.js';
import { StepGraph } from './graph.js';
import { hasFewEdges, MAX_STEPS } from './layout.js';
import { isTimed, pollInterval, progressText } from './model.js';
import type { Form } from './preference.js';
import { loadForm, saveForm } from './preference.js';
import { StepTable } from './table.js';

interface IProps extends IContext {
  readonly runId: string;
  /** A hidden view does no work. */
  readonly isVisible: boolean;
  /** Shown until the run is loaded. */
  readonly snapshot?: string | undefined;
  /** Called with the run whenever it was fetched. */
  readonly onLoaded?: (run: IRun) => void;
}

export function WorkflowView(props: IProps): React.JSX.Element {
  const { engine, runId, isVisible, snapshot, trans, onLoaded } = props;
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  const [isDeleted, setDeleted] = React.useState(false);
  const fetch = async () => parseRun(await engine.call('show_workflow', { run: runId }));
  const { value: run, error, poll, hold } = usePolling<IRun | null>(fetch, isVisible && !isDeleted, pollInterval);
  React.useEffect(() => {
    if (run) {
      onLoaded?.(run);
    }
  }, [run?.name]);
  /** Run an action, then fetch its result. */
  const act = async (action: Action, shown: IRun) => {
    hold(true);
    try {
      if ((await action(props, shown)) && action === deleteRun) {
        setDeleted(true);
      }
    } finally {
      hold(false);
      void poll();
    }
  };
  return (
    <section
      ref={box}
      className="jp-pai-Job jp-pai-Workflow"
      role="group"
      onKeyDown={keepPlainKey}
      aria-label={run ? trans.__('Workflow %1', run.name) : trans.__('Workflow')}
    >
      {run && !isDeleted && <Header {...props} run={run} act={act} />}
      {isDeleted ? (
        <p role="status">{trans.__('The workflow was deleted.')}</p>
      ) : (
        <>
          <ErrorMessage error={error} />
          {run ? <Steps {...props} run={run} /> : snapshot && <Snapshot text={snapshot} trans={trans} />}
        </>
      )}
    </section>
  );
}

/** The run as saved in the notebook; all there is if the server does not know it. */
function Snapshot({ text, trans }: { text: string; trans: IContext['trans'] }): React.JSX.Element {
  return (
    <>
      <p className="jp-pai-Job-facts">{trans.__('As of the last notebook save:')}</p>
      <pre className="jp-pai-Job-log" tabIndex={0}>
        {text}
      </pre>
    </>
  );
}

/** Returns false if the user declines. */
type Action = (context: IContext, run: IRun) => Promise<boolean>;

interface IHeader extends IProps {
  readonly run: IRun;
  readonly act: (action: Action, run: IRun) => Promise<void>;
}

function Header({ run, act, trans, isVisible }: IHeader): React.JSX.Element {
  const task = useTask();
  const hasEnded = hasRunEnded(run);
  const now = useClock(isVisible && !hasEnded);
  const facts = [
    run.id,
    progressText(run.steps.filter(hasStepEnded).length, run.steps.length, trans),
    trans.__('started %1', moment(run.submittedAt)),
    duration((run.endedAt ?? now) - run.submittedAt, trans)
  ];
  const button = (text: string, work: () => Promise<void>) => (
    <button type="button" className="jp-pai-Button" disabled={task.isBusy} onClick={() => task.run(work)}>
      {text}
    </button>
  );
  return (
    <header className="jp-pai-Job-head">
      <div className="jp-pai-Job-title">
        <span role="status">
          <StatusBadge status={run.status} trans={trans} />
        </span>
        <span className="jp-pai-Job-name">{run.name}</span>
        <span className="jp-pai-Job-facts">{facts.join(' · ')}</span>
      </div>
      <div className="jp-pai-Actions" role="group" data-lm-suppress-shortcuts="true" aria-label={trans.__('Actions')}>
        {run.status === 'running' && button(trans.__('Stop'), () => act(stopRun, run))}
        {(run.status === 'failed' || run.status === 'stopped') && button(trans.__('Resume'), () => act(resumeRun, run))}
        {hasEnded && button(trans.__('Delete'), () => act(deleteRun, run))}
      </div>
      <ErrorMessage error={task.error} />
      {run.reason && <p className={hasEnded ? 'jp-pai-Job-trouble' : 'jp-pai-Job-waiting'}>{run.reason}</p>}
    </header>
  );
}

/** The steps, in the form that the user chose. */
function Steps(props: IProps & { run: IRun }): React.JSX.Element {
  const { run, trans, isVisible } = props;
  const [chosen, setForm] = React.useState(loadForm);
  const now = useClock(isVisible && isTimed(run));
  const isSmall = run.steps.length <= MAX_STEPS;
  const canDraw = isSmall && hasFewEdges(run.steps);
  const form = canDraw ? chosen : 'table';
  const label = trans.__('Steps of workflow %1', run.name);
  const common = { ...props, steps: run.steps, now, label };
  return (
    <>
      <div className="jp-pai-Workflow-forms" role="group" aria-label={trans.__('View')}>
        <FormButton name="graph" isDisabled={!canDraw} form={form} setForm={setForm}>
          {trans.__('Graph')}
        </FormButton>
        <FormButton name="table" isDisabled={false} form={form} setForm={setForm}>
          {trans.__('Table')}
        </FormButton>
        {!canDraw && (
          <span className="jp-pai-Workflow-note">
            {isSmall
              ? trans.__('The steps need too many others for a graph.')
              : trans.__('Graphs are drawn of workflows with up to %1 steps.', MAX_STEPS)}
          </span>
        )}
      </div>
      {form === 'graph' ? <StepGraph {...common} /> : <StepTable {...common} />}
    </>
  );
}

interface IFormButton {
  readonly name: Form;
  readonly form: Form;
  readonly isDisabled: boolean;
  readonly setForm: (form: Form) => void;
  readonly children: string;
}

function FormButton({ name, form, isDisabled, setForm, children }: IFormButton): React.JSX.Element {
  const choose = () => {
    saveForm(name);
    setForm(name);
  };
  return (
    <button
      type="button"
      className="jp-pai-Button"
      data-form={name}
      aria-pressed={form === name}
      disabled={isDisabled}
      onClick={choose}
    >
      {children}
    </button>
  );
}
