/**
 * The job view: its header and tabs.
 */

import * as React from 'react';

import type { JobModel } from '../api/jobmodel.js';
import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';
import { Logs } from '../logs/view.js';
import { markedName } from '../metrics/detected.js';
import { Metrics } from '../metrics/view.js';
import { Outputs } from '../outputs/view.js';
import { TensorBoard } from '../tensorboard/view.js';
import { Connection } from '../ui/connectionbanner.js';
import type { IContext, ITabProps } from '../ui/context.js';
import { useChanges, useClock } from '../ui/context.js';
import { duration, shortNumber } from '../ui/format.js';
import { useKeptFocus } from '../ui/hooks.js';
import { keepPlainKey } from '../ui/keys.js';
import { StatusBadge } from '../ui/statusbadge.js';
import { Actions } from './actions.js';
import { Events } from './events.js';
import { Overview } from './overview.js';

type Tab = 'overview' | 'logs' | 'metrics' | 'outputs' | 'tensorboard' | 'events';

const TABS: Readonly<Record<Tab, (props: ITabProps) => React.JSX.Element>> = {
  overview: Overview,
  logs: Logs,
  metrics: Metrics,
  outputs: Outputs,
  tensorboard: TensorBoard,
  events: Events
};

interface IProps extends IContext {
  readonly model: JobModel;
  /** A hidden view does no work. */
  readonly isVisible: boolean;
  /** Shown until the job is loaded. */
  readonly snapshot?: string | undefined;
  readonly isCompact?: boolean;
}

export function JobView(props: IProps): React.JSX.Element {
  const { model, trans, isVisible } = props;
  const box = React.useRef<HTMLElement>(null);
  useChanges(model);
  useKeptFocus(box);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    model.follow(controller.signal);
    return () => controller.abort();
  }, [model, isVisible]);
  const { job, error } = model;
  return (
    <section
      ref={box}
      className="jp-pai-Job"
      role="group"
      onKeyDown={keepPlainKey}
      aria-label={job ? trans.__('Training job %1', job.name) : trans.__('Training job')}
    >
      <Connection {...props} connection={model.connection} />
      {job && <Header {...props} job={job} />}
      {error && <p className="jp-pai-Job-trouble">{[error.message, error.fix].filter(Boolean).join(' ')}</p>}
      {job ? <Tabs {...props} /> : <Snapshot {...props} />}
    </section>
  );
}

/** The job as saved in the notebook; all there is if the server does not know the job. */
function Snapshot({ snapshot, trans }: IProps): React.JSX.Element | null {
  return snapshot ? (
    <>
      <p className="jp-pai-Job-facts">{trans.__('As of the last notebook save:')}</p>
      <pre className="jp-pai-Job-log" tabIndex={0}>
        {snapshot}
      </pre>
    </>
  ) : null;
}

function Header(props: IProps & { job: IJob }): React.JSX.Element {
  const { job, trans } = props;
  const now = useClock(props.isVisible && job.startedAt !== null && !hasEnded(job));
  const facts = [job.id, job.backend];
  if (job.startedAt !== null) {
    facts.push(duration((job.endedAt ?? now) - job.startedAt, trans));
  }
  if (job.progress !== null && !hasEnded(job)) {
    facts.push(`${Math.round(job.progress * 100)} %`);
  }
  const metrics = [...job.metrics]
    .slice(0, 5)
    .map(([name, point]) => `${markedName(name, point, trans)} ${shortNumber(point.value)}`);
  return (
    <header className="jp-pai-Job-head">
      <div className="jp-pai-Job-title">
        <span role="status">
          <StatusBadge status={job.status} trans={trans} />
        </span>
        <span className="jp-pai-Job-name">{job.name}</span>
        <span className="jp-pai-Job-facts">{facts.join(' · ')}</span>
        {job.paid && (
          <span className="jp-pai-Job-facts">
            {job.runTimeLimit === 0
              ? trans.__('no run-time limit: billed until it ends')
              : trans.__('billed until it ends')}
          </span>
        )}
        {job.pinned && <span className="jp-pai-Job-facts">{trans.__('pinned')}</span>}
      </div>
      <Actions {...props} />
      {metrics.length > 0 && <div className="jp-pai-Job-metrics">{metrics.join(' · ')}</div>}
    </header>
  );
}

/** Tabs that follow the ARIA pattern: arrow keys move, and only the selected tab is in the tab order. */
function Tabs(props: IProps): React.JSX.Element {
  const { trans } = props;
  const [selected, setSelected] = React.useState<Tab>('overview');
  const [instance, setInstance] = React.useState<string | null>(null);
  const id = React.useId();
  const strip = React.useRef<HTMLDivElement>(null);
  const titles: Readonly<Record<Tab, string>> = {
    overview: trans.__('Overview'),
    logs: trans.__('Logs'),
    metrics: trans.__('Metrics'),
    outputs: trans.__('Outputs'),
    tensorboard: trans.__('TensorBoard'),
    events: trans.__('Events')
  };
  const names = Object.keys(TABS) as Tab[];
  const select = (tab: Tab, instance: string | null = null) => {
    setSelected(tab);
    setInstance(instance);
  };
  const focus = (tab: Tab) => strip.current?.querySelector<HTMLElement>(`[data-tab="${tab}"]`)?.focus();
  const openLog = (name: string) => {
    select('logs', name);
    focus('logs');
  };
  const move = (event: React.KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && names[(names.indexOf(selected) + step + names.length) % names.length];
    if (next) {
      event.preventDefault();
      select(next);
      focus(next);
    }
  };
  return (
    <>
      <div className="jp-pai-Tabs" role="tablist" data-lm-suppress-shortcuts="true" ref={strip} onKeyDown={move}>
        {names.map(name => (
          <button
            key={name}
            type="button"
            role="tab"
            data-tab={name}
            id={`${id}-${name}`}
            aria-selected={name === selected}
            aria-controls={`${id}-panel`}
            tabIndex={name === selected ? 0 : -1}
            onClick={() => select(name)}
          >
            {titles[name]}
          </button>
        ))}
      </div>
      <div className="jp-pai-Tabs-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${selected}`}>
        {React.createElement(TABS[selected], { ...props, key: selected, instance, openLog })}
      </div>
    </>
  );
}
