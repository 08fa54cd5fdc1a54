// Browsers start no worker on a page that was opened from the disk: there the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.documentElement.append(frame)
      const inside = frame.contentWindow
      const script = inside.document.createElement("script")
      const started = new Promise(done => (script.onload = done))
      script.onerror = error => this.onerror?.(error)
      script.src = new URL(url, location.href)
      inside.document.documentElement.append(script)
      this.terminate = () => frame.remove()
      // Both sides get a copy, as with a worker: each changes what it was given.
      this.postMessage = message => {
        const data = inside.structuredClone(message)
        started.then(() => inside.onmessage?.({ data }))
      }
      inside.postMessage = message => {
        const data = structuredClone(message)
        setTimeout(() => this.onmessage?.({ data }))
      }
    }
  }
}
