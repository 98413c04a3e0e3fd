/**
 * The address bar of the browser has pop-ups, which are pages in separate processes: three for each window, and half of the CPU
 * time of a test. No test needs them.
 */
const POPUPS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup']

/** The features that Playwright itself turns off. They are repeated here because the browser uses only the last list. */
export const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'msForceBrowserSignIn',
  'msEdgeUpdateLaunchServicesPreferredVersion',
]

/** How tests start a Chromium. */
export const BROWSER_ARGS = [
  '--no-sandbox',
  `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...POPUPS].join(',')}`,
]
