/**
 * A job id, as a link where the environment can open jobs.
 */

import * as React from 'react';

import type { IHost } from '../host/host.js';

export function JobLink({ host, jobId }: { host: IHost; jobId: string }): React.JSX.Element {
  return host.openJob ? (
    <button type="button" className="jp-pai-Link" onClick={() => host.openJob?.(jobId)}>
      {jobId}
    </button>
  ) : (
    <code>{jobId}</code>
  );
}
