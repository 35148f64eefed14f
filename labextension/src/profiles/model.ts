/**
 * Model of the profiles page: the profiles, the one being edited, and test results.
 *
 * Typed credentials stay here until they are sent; the server never returns them.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine, IErrorMessage } from '../api/engine.js';
import { EngineError, errorMessageOf } from '../api/engine.js';
import type { Json } from '../api/wire.js';
import { parseMap, record, string, strings } from '../api/wire.js';
import type { IProfilesTarget } from '../host/host.js';
import type { ICheckResult, IPlatform, IProfileView } from './profiles.js';
import { changesOf, parseCheckResults, parsePlatforms, parseProfiles } from './profiles.js';

/** A profile that is being added or edited. Errors are by field name. */
export interface IEditing {
  /** The stored profile; null for a new one. */
  readonly profile: IProfileView | null;
  readonly platform: IPlatform;
  readonly name: string;
  readonly values: Json;
  readonly credentials: Json;
  /** True if there are unsaved changes. */
  readonly isDirty: boolean;
  /** True if the form begins with the login, and the settings are collapsed. */
  readonly isAtLogin: boolean;
  readonly nameError: string;
  readonly errors: ReadonlyMap<string, string>;
  readonly credentialErrors: ReadonlyMap<string, string>;
  readonly error: IErrorMessage | null;
}

/** The last test of a profile. */
export interface ITest {
  readonly isRunning: boolean;
  readonly findings: readonly ICheckResult[];
  readonly error: IErrorMessage | null;
}

const NO_FIELD_ERRORS: ReadonlyMap<string, string> = new Map();
const NO_ERRORS = { nameError: '', errors: NO_FIELD_ERRORS, credentialErrors: NO_FIELD_ERRORS, error: null } as const;
const UNCHANGED = { isDirty: false, isAtLogin: false, ...NO_ERRORS } as const;

export class ProfilesModel {
  constructor(
    private readonly engine: IEngine,
    private readonly trans: TranslationBundle
  ) {}

  /** Null until loaded. */
  profiles: readonly IProfileView[] | null = null;
  platforms: readonly IPlatform[] = [];
  /** The file of credentials that are not stored in a keyring. */
  credentialsFile = '';
  error: IErrorMessage | null = null;
  editing: IEditing | null = null;
  /** Notes of the engine on the platform of the last saved profile. */
  notes: readonly string[] = [];
  isBusy = false;
  readonly tests = new Map<string, ITest>();

  /** Emitted when a field above changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Load everything. */
  async load(): Promise<void> {
    await this.run(async () => {
      const [platforms, profiles] = await Promise.all([this.engine.call('backends'), this.engine.call('profiles')]);
      this.platforms = parsePlatforms(platforms);
      this.update(profiles);
    });
  }

  platformOf(profile: IProfileView): IPlatform | undefined {
    return this.platforms.find(platform => platform.name === profile.backend);
  }

  /** Start a new profile of a platform, with the platform's name or a numbered one. */
  startAdding(platform: IPlatform): void {
    const usedNames = (this.profiles ?? []).map(profile => profile.name);
    const names = [platform.name, ...usedNames.map((_, n) => `${platform.name}-${n + 2}`)];
    const name = names.find(free => !usedNames.includes(free)) ?? '';
    this.notes = [];
    this.setEditing({ profile: null, platform, name, values: {}, credentials: {}, ...UNCHANGED });
  }

  /** Start editing a profile, or its login; no effect if its platform is missing. */
  startEditing(profile: IProfileView, isAtLogin = false): void {
    const platform = this.platformOf(profile);
    if (platform) {
      this.notes = [];
      this.setEditing({
        profile,
        platform,
        name: profile.name,
        values: profile.settings,
        credentials: {},
        ...UNCHANGED,
        isAtLogin: isAtLogin && platform.credentials !== null
      });
    }
  }

  /**
   * Open what a target names, unless the profile is locked or another one has unsaved changes; return whether the user
   * must select a platform for it.
   */
  open({ profile: name, atLogin, isNew, backend }: IProfilesTarget): boolean {
    if (this.editing?.isDirty) {
      return false;
    }
    if (isNew) {
      const platform = this.platforms.find(platform => platform.name === backend);
      if (platform) {
        this.startAdding(platform);
      } else {
        this.close();
      }
      return !platform;
    }
    const profile = this.profiles?.find(profile => profile.name === name);
    if (profile && !profile.isLocked) {
      this.startEditing(profile, atLogin);
    }
    return false;
  }

  /** Update the form. Errors stay until it is saved again. */
  updateForm(change: Partial<Pick<IEditing, 'name' | 'values' | 'credentials'>>): void {
    if (this.editing) {
      this.setEditing({ ...this.editing, ...change, isDirty: true });
    }
  }

  /** Close the form and discard its changes. */
  close(): void {
    this.setEditing(null);
  }

  /**
   * Save the profile and its credentials; return whether the form is closed. Errors are shown in it. After the settings
   * of a new profile, its login follows if the engine found out something about the platform.
   */
  async save(): Promise<boolean> {
    const { editing } = this;
    if (!editing || this.isBusy) {
      return false;
    }
    const name = editing.name.trim();
    const nameError = editing.profile ? '' : this.nameErrorOf(name);
    if (nameError) {
      this.setEditing({ ...editing, ...NO_ERRORS, nameError });
      return false;
    }
    this.setEditing({ ...editing, ...NO_ERRORS });
    const isNew = editing.profile === null;
    this.isBusy = true;
    this.signal.emit();
    try {
      return (await this.saveSettings(name)) && !(isNew && this.proceedToLogin()) && (await this.saveCredentials(name));
    } finally {
      this.isBusy = false;
      this.signal.emit();
    }
  }

  async makeDefault({ name }: IProfileView): Promise<void> {
    await this.run(async () => {
      this.update(await this.engine.call('set_profile', { profile: name }, { default: true }));
    });
  }

  /** Remove a profile with its credentials. */
  async remove({ name }: IProfileView): Promise<void> {
    await this.run(async () => {
      this.update(await this.engine.call('remove_profile', { profile: name }));
      this.tests.delete(name);
    });
  }

  /** Remove the credentials of a profile. */
  async removeCredentials({ name }: IProfileView): Promise<void> {
    await this.run(async () => {
      this.update(await this.engine.call('remove_credentials', { profile: name }));
      const profile = this.profiles?.find(profile => profile.name === name);
      if (profile && this.editing?.profile?.name === name) {
        this.setEditing({ ...this.editing, profile });
      }
    });
  }

  /** Test everything that jobs of a profile need. */
  async test({ name }: IProfileView): Promise<void> {
    if (this.tests.get(name)?.isRunning) {
      return;
    }
    this.setTest(name, { isRunning: true, findings: [], error: null });
    try {
      const findings = parseCheckResults(await this.engine.call('doctor', { profile: name }));
      this.setTest(name, { isRunning: false, findings, error: null });
    } catch (error) {
      this.setTest(name, { isRunning: false, findings: [], error: errorMessageOf(error) });
    }
  }

  private nameErrorOf(name: string): string {
    if (!name) {
      return this.trans.__('Name is required.');
    }
    const isTaken = this.profiles?.some(profile => profile.name === name);
    return isTaken ? this.trans.__('A profile with this name already exists.') : '';
  }

  /** Save the settings first, since credentials need an existing profile. */
  private async saveSettings(name: string): Promise<boolean> {
    const { editing } = this;
    if (!editing) {
      return false;
    }
    const { profile, platform, values } = editing;
    const changes = profile ? changesOf(profile.settings, values) : { backend: platform.name, ...values };
    if (!Object.keys(changes).length) {
      return true;
    }
    try {
      const response = await this.engine.call('set_profile', { profile: name }, { values: changes });
      this.notes = strings(record(response)['notes']);
      this.update(response);
    } catch (reason) {
      const [errors, error] = fieldErrorsOf(reason, platform.settings, name);
      this.setEditing({ ...editing, errors, error });
      return false;
    }
    // The profile exists now, so later errors concern editing it.
    const saved = this.profiles?.find(profile => profile.name === name) ?? null;
    this.setEditing({ ...editing, profile: saved, values: saved?.settings ?? values });
    return true;
  }

  /** Show the login of a profile that was just created; return whether it has one that was not typed yet. */
  private proceedToLogin(): boolean {
    const { editing } = this;
    if (!editing?.platform.credentials || !this.notes.length || Object.keys(editing.credentials).length) {
      return false;
    }
    this.setEditing({ ...editing, isDirty: false, isAtLogin: true });
    return true;
  }

  private async saveCredentials(name: string): Promise<boolean> {
    const { editing } = this;
    if (editing && Object.keys(editing.credentials).length) {
      try {
        this.update(await this.engine.call('set_credentials', { profile: name }, editing.credentials));
      } catch (reason) {
        const [credentialErrors, error] = fieldErrorsOf(reason, editing.platform.credentials, name);
        // A login may be refused because of a setting.
        const [errors] = fieldErrorsOf(reason, editing.platform.settings, name);
        this.setEditing({ ...editing, credentialErrors, errors, error: errors.size ? null : error });
        return false;
      }
    }
    this.tests.delete(name);
    this.close();
    return true;
  }

  private async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.error = null;
    } catch (error) {
      this.error = errorMessageOf(error);
    }
    this.signal.emit();
  }

  private update(response: unknown): void {
    [this.profiles, this.credentialsFile] = parseProfiles(response);
  }

  private setEditing(editing: IEditing | null): void {
    this.editing = editing;
    this.signal.emit();
  }

  private setTest(name: string, test: ITest): void {
    this.tests.set(name, test);
    this.signal.emit();
  }

  private readonly signal = new Signal<this, void>(this);
}

/**
 * Return errors by field of a schema; or the error itself if it concerns none of them, such as one of another profile.
 */
function fieldErrorsOf(
  error: unknown,
  schema: Json | null,
  name: string
): [ReadonlyMap<string, string>, IErrorMessage | null] {
  const details = error instanceof EngineError ? error.details : {};
  const byField = parseMap(
    [undefined, name].includes(details['profile'] as string | undefined) ? details['faults'] : null,
    string
  );
  const properties = record(schema?.['properties']);
  const errors = new Map([...byField].filter(([field]) => (field.split('.')[0] ?? '') in properties));
  return [errors, errors.size ? null : errorMessageOf(error)];
}
