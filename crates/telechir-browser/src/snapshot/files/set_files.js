function (files) {
  const transfer = new DataTransfer()
  for (const [name, type, base64] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(base64), one => one.charCodeAt(0))], name, { type }))
  }
  this.files = transfer.files
  this.dispatchEvent(new Event("input", { bubbles: true, composed: true }))
  this.dispatchEvent(new Event("change", { bubbles: true }))
}
