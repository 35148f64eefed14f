/**
 * The tab Overview of the job view: progress first, then the settings of the job.
 */

import * as React from 'react';

import { safeLink } from '../api/jobhistory.js';
import type { IOption } from '../api/options.js';
import { changesOf } from '../api/options.js';
import type { IJob, Json } from '../api/wire.js';
import { list, number, parseMap, record, string, strings } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { machineSizes, moment } from '../ui/format.js';
import { useTask } from '../ui/hooks.js';
import { JobLink } from '../ui/joblink.js';
import { MessageText, OptionActions } from '../ui/messagetext.js';
import { Facts, Section } from '../ui/section.js';
import { shellLine } from '../ui/shell.js';
import { useJobActions } from './actions.js';
import { Figures } from './figures.js';
import { Instances } from './instancetable.js';
import { Labels } from './labels.js';
import { LogTail } from './logtail.js';
import { Provenance } from './provenance.js';
import { Recipe } from './recipe.js';
import { Progress, Timeline } from './timeline.js';

export function Overview(props: ITabProps): React.JSX.Element {
  const { job } = props.model;
  const { trans, isCompact } = props;
  if (!job) {
    return <></>;
  }
  const open = !isCompact;
  const hyperparameters = [...parseMap(job.spec['hyperparameters'], string)];
  const [inputs, labels] = [[...parseMap(job.spec['inputs'], string)], job.labels.size];
  return (
    <div className="jp-pai-Overview">
      <RerunOptions {...props} job={job}>
        <Progress job={job} trans={trans} isVisible={props.isVisible} />
        {job.reason && (
          <p className={job.status === 'queued' ? 'jp-pai-Job-waiting' : 'jp-pai-Job-trouble'}>
            {job.reason} <MessageText text={job.fix} />
          </p>
        )}
        <LogTail {...props} />
        <Figures {...props} />
        {job.notes.length > 0 && (
          <ul className="jp-pai-Notes" aria-label={trans.__('Notes')}>
            {job.notes.map((note, n) => (
              <li key={n}>{note}</li>
            ))}
          </ul>
        )}
        <Timeline {...props} job={job} />
        {Math.max(number(job.spec['instance_count']) ?? 1, job.instances.length) > 1 && (
          <Instances {...props} job={job} />
        )}
        {hyperparameters.length > 0 && (
          <Section title={trans.__('Hyperparameters (%1)', hyperparameters.length)} isOpen={open}>
            <Facts facts={hyperparameters} />
          </Section>
        )}
        <Section title={trans.__('Inputs and outputs')} isOpen={open}>
          {inputs.length > 0 && <h4>{trans.__('Inputs')}</h4>}
          <Facts facts={inputs} />
          <h4>{trans.__('Outputs')}</h4>
          <Facts facts={[...job.outputs]} />
        </Section>
        <Section title={trans.__('Job')} isOpen={open}>
          <JobFacts {...props} job={job} />
        </Section>
        <Section title={labels ? trans.__('Labels (%1)', labels) : trans.__('Labels')} isOpen={open || labels > 0}>
          <Labels {...props} job={job} />
        </Section>
        <Section title={trans.__('Provenance')}>
          <Provenance {...props} />
        </Section>
        <Section title={trans.__('Export as code')}>
          <Recipe {...props} />
        </Section>
      </RerunOptions>
    </div>
  );
}

/** Makes options in the messages of a job buttons that run it again with them. */
function RerunOptions(props: ITabProps & { job: IJob; children: React.ReactNode }): React.JSX.Element {
  const { job, trans, host, children } = props;
  const { rerun } = useJobActions(props, job);
  const task = useTask();
  const run = async (changes: Json) => {
    const jobId = await rerun(changes);
    if (jobId) {
      host.openJob?.(jobId);
    }
  };
  const actionOf = (option: IOption) => {
    const changes = changesOf(job.spec, option);
    return changes && (() => task.run(() => run(changes)));
  };
  return (
    <OptionActions.Provider value={{ trans, title: trans.__('Run again with this'), actionOf }}>
      <ErrorMessage error={task.error} />
      {children}
    </OptionActions.Provider>
  );
}

/** The number of instances of a role, its machine and its command. */
function roleText(role: Json): string {
  const count = `× ${number(role['count']) ?? 1}`;
  return [count, string(role['instance_type']), ...machineSizes(role), string(role['image']), string(role['command'])]
    .filter(Boolean)
    .join(', ');
}

function JobFacts({ job, trans, host }: ITabProps & { job: IJob }): React.JSX.Element {
  const { spec } = job;
  const link = safeLink(job.consoleUrl);
  const count = number(spec['instance_count']) ?? 1;
  // Jobs of earlier releases have only the limit of their spec.
  const limit = job.runTimeLimit ?? number(spec['max_run_time']);
  const names = (field: string) => Object.keys(record(spec[field])).join(', ');
  const secrets = [...parseMap(spec['secrets'], string)];
  return (
    <Facts
      facts={[
        [trans.__('ID'), job.id],
        [trans.__('Rerun of'), job.rerunOf && <JobLink host={host} jobId={job.rerunOf} />],
        [trans.__('Resumed from'), job.resumedFrom && <JobLink host={host} jobId={job.resumedFrom} />],
        [trans.__('Workflow'), job.workflow && <WorkflowStep job={job} host={host} trans={trans} />],
        [trans.__('Backend'), [job.backend, job.profile !== job.backend && job.profile].filter(Boolean).join(', ')],
        [trans.__('Platform status'), job.platformStatus],
        [
          trans.__('Console'),
          link && (
            <a href={link} target="_blank" rel="noopener noreferrer">
              {link}
            </a>
          )
        ],
        [trans.__('Submitted'), moment(job.submittedAt)],
        [trans.__('Exit code'), job.exitCode === null ? '' : String(job.exitCode)],
        [trans.__('Command'), string(spec['command']) || string(spec['entry_point'])],
        [trans.__('Arguments'), shellLine(spec['args'])],
        [trans.__('Notebook'), job.notebook],
        [trans.__('Folder'), string(record(spec['source'])['folder'])],
        ...list(spec['roles'])
          .map(record)
          .map((role): [string, string] => [trans.__('Role %1', string(role['name'])), roleText(role)]),
        [trans.__('Instance'), [string(spec['instance_type']), count > 1 && `× ${count}`].filter(Boolean).join(' ')],
        [trans.__('Cores'), amount(spec['cpu'])],
        [trans.__('GPUs'), amount(spec['gpu'])],
        [trans.__('Memory'), string(spec['memory'])],
        [trans.__('Image'), string(spec['image'])],
        [trans.__('Interpreter'), job.python || string(spec['python'])],
        [trans.__('Requirements'), strings(spec['requirements']).join(', ')],
        [trans.__('Environment variables'), names('environment')],
        [
          trans.__('Secrets'),
          secrets.map(([name, secret]) => (name === secret ? name : `${name}=${secret}`)).join(', ')
        ],
        [
          trans.__('Metrics from the log'),
          list(spec['metric_definitions'])
            .map(item => string(record(item)['name']))
            .join(', ')
        ],
        [trans.__('Time limit'), limit ? trans.__('%1 s', limit) : limit === 0 && job.paid ? trans.__('no limit') : '']
      ]}
    />
  );
}

function WorkflowStep({ job, host, trans }: Pick<ITabProps, 'host' | 'trans'> & { job: IJob }): React.JSX.Element {
  const text = trans.__('Step %1 of workflow %2', job.step, job.workflow);
  return host.openWorkflow ? (
    <button type="button" className="jp-pai-Link" onClick={() => host.openWorkflow?.(job.workflow)}>
      {text}
    </button>
  ) : (
    <>{text}</>
  );
}

function amount(value: unknown): string {
  const count = number(value);
  return count === null ? '' : String(count);
}
