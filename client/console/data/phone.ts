/** Whether the page is as narrow as a phone; the same width as in style.css. */
export const phone = matchMedia('(width < 760px)')
