/**
 * The free resources of quotas, or of the machine that runs the jobs.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { count } from '../../ui/format.js';
import type { IQuota } from './instancetypes.js';
import { gibibytes } from './instancetypes.js';

// Users that are shown for each quota.
const MOST_USERS = 5;

interface IProps {
  readonly quotas: readonly IQuota[];
  readonly trans: TranslationBundle;
}

export function QuotaList({ quotas, trans }: IProps): React.JSX.Element {
  return (
    <ul className="jp-pai-Quotas">
      {quotas.map(quota => (
        <Quota key={quota.id} quota={quota} trans={trans} />
      ))}
    </ul>
  );
}

/** A name, and a bar for each resource. Resources that the quota does not have are left out. */
function Quota({ quota, trans }: { quota: IQuota } & Pick<IProps, 'trans'>): React.JSX.Element {
  const { id, name, status, cpu, memory, gpu, freeCpu, freeMemory, freeGpu, gpuName, users } = quota;
  const cores = (n: number) => count(n, { maximumFractionDigits: 1 });
  const rows = (
    [
      [freeCpu, cpu, trans.__('%1 of %2 cores free', cores(freeCpu), cores(cpu))],
      [freeMemory, memory, trans.__('%1 of %2 GiB free', gibibytes(freeMemory), gibibytes(memory))],
      [freeGpu, gpu, trans.__('%1 of %2 GPUs free', freeGpu, gpu) + (gpuName && ` (${gpuName})`)]
    ] as const
  ).filter(([, all]) => all > 0);
  return (
    <li data-quota={id}>
      <p className="jp-pai-Quotas-name">
        {name || id} {status && <span className="jp-pai-Quotas-note">{status}</span>}
      </p>
      {rows.map(([free, all, text]) => (
        <p key={text} className="jp-pai-Quotas-row">
          <span className="jp-pai-Quotas-bar" aria-hidden>
            <span style={{ width: `${Math.min(Math.max(1 - free / all, 0), 1) * 100}%` }} />
          </span>
          <span>{text}</span>
        </p>
      ))}
      {rows.length === 0 && <p className="jp-pai-Quotas-note">{trans.__('No resources.')}</p>}
      {users.slice(0, MOST_USERS).map(({ name, running, waiting }) => (
        <p key={name} className="jp-pai-Quotas-note">
          {waiting
            ? trans.__('Jobs of %1: %2 running, %3 waiting', name || '–', running, waiting)
            : trans.__('Jobs of %1: %2 running', name || '–', running)}
        </p>
      ))}
      {users.length > MOST_USERS && (
        <p className="jp-pai-Quotas-note">{trans.__('Other users: %1', users.length - MOST_USERS)}</p>
      )}
    </li>
  );
}
